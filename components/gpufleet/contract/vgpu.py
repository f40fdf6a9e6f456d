"""Compatibility of vGPU pools: hypervisor, guest driver, licence, sizes on one GPU.

Facts: NVIDIA GPU Operator documentation (vGPU, NVIDIADriver), NVIDIA AI Enterprise 6.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpufleet.contract.dra import Member
from gpufleet.contract.platform import Platforms
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, findings_in
from gpufleet.partition.vgpu import VgpuCut, scheduler_value
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)


def validate_vgpu(
    members: Sequence[Member], spec: FleetSpec, platforms: Platforms
) -> Iterator[Finding]:
    """Findings about all vGPU pools together; none without such a pool."""
    guests = [member for member in members if member[2].vgpu is not None]
    if not guests:
        return
    facts = platforms[spec.platform].facts
    licensed = spec.addons.gpu_operator.driver.licensing is not None
    allowed = [p.value for p, one in platforms.items() if one.facts.vgpu]
    for _, path, partition, _ in guests:
        if not facts.vgpu:
            yield _finding(
                "vgpu-needs-hypervisor", path, value=spec.platform.value, allowed=allowed
            )
        # The operator's own licensing serves pools without a Secret.
        if partition.vgpu is not None and partition.vgpu.license_secret is None and not licensed:
            yield _finding("vgpu-unlicensed", path)
    named = {part.vgpu.license_secret for _, _, part, _ in guests if part.vgpu is not None}
    secrets = tuple(sorted(name for name in named if name is not None))
    if len(secrets) > 1:
        last = guests[-1][1]
        yield _finding("vgpu-licenses-differ", last, value=secrets, secrets=secrets[0], limit=1)
    for gpu, path, shown, kinds in _several(guests, _size):
        yield _finding("vgpu-sizes-differ", path, gpu=gpu, shown=shown, kinds=kinds)
    for gpu, path, shown, values in _several(guests, _scheduler):
        yield _finding("vgpu-schedulers-differ", path, gpu=gpu, shown=shown, values=values)
    if facts.vgpu and not facts.simulated:
        yield from _validate_guest_driver(guests, spec)
        yield from _validate_kinds(members, guests, spec, by_charts=not facts.lifecycle_manager)


def _size(made: VgpuCut) -> str:
    """A GPU has vGPUs of one size unless its host allows mixed sizes, and is MIG-backed or not."""
    return "MIG-backed" if made.mig_backed else f"{made.type.gigabytes} GB"


def _scheduler(made: VgpuCut) -> str | None:
    """The scheduler is a setting of a host's GPU, for all vGPUs on it."""
    scheduler = made.scheduler
    return None if scheduler is None else scheduler_value(scheduler, made.time_slice_ms)


def _several(
    guests: Sequence[Member], of: Callable[[VgpuCut], str | None]
) -> Iterator[tuple[str, str, str, dict[str, tuple[str, ...]]]]:
    """GPUs for which pools need different values: with the path of the last such pool, the values
    as text, and the names of the pools for each."""
    by_gpu: dict[str, dict[str, list[str]]] = {}
    for pool, _, partition, _ in guests:
        made = partition.vgpu
        assert made is not None
        value = of(made)
        if value is not None:
            by_gpu.setdefault(partition.gpu, {}).setdefault(value, []).append(pool.name)
    for gpu, values in by_gpu.items():
        if len(values) > 1:
            shown = "; ".join(f"{key}: {', '.join(names)}" for key, names in sorted(values.items()))
            path = next(path for _, path, part, _ in reversed(guests) if part.gpu == gpu)
            yield gpu, path, shown, {key: tuple(names) for key, names in values.items()}


def _validate_guest_driver(guests: Sequence[Member], spec: FleetSpec) -> Iterable[Finding]:
    """The guest driver is in a private image that the user builds: it may not be published."""
    operator = spec.addons.gpu_operator
    driver = mapping(operator.values.get("driver"))
    needs = [pool.name for pool, _, _, image in guests if image is None or not image.driver]
    if not needs or operator.driver.enabled is False:
        return
    have = {
        "addons.gpuOperator.driver.repository": operator.driver.repository
        or driver.get("repository"),
        "addons.gpuOperator.driver.version": operator.driver.version or driver.get("version"),
        "addons.gpuOperator.imagePullSecret": operator.image_pull_secret
        or driver.get("imagePullSecrets"),
    }
    missing = [key for key, value in have.items() if not value]
    if missing:
        yield _finding("vgpu-guest-driver-missing", missing[0], needs=needs, missing=missing)


def _validate_kinds(
    members: Sequence[Member], guests: Sequence[Member], spec: FleetSpec, *, by_charts: bool
) -> Iterable[Finding]:
    """Guest and data-centre driver are two drivers: one ClusterPolicy installs one of them."""
    others = [pool.name for pool, _, part, _ in members if part.vgpu is None]
    driver = mapping(spec.addons.gpu_operator.values.get("driver"))
    separate = mapping(driver.get("nvidiaDriverCRD")).get("enabled") is True
    if by_charts and spec.addons.gpu_operator.driver.data_center is not None:
        return
    if others and not separate:
        yield _finding(
            "vgpu-and-passthrough-drivers",
            guests[0][1],
            fix=(
                (
                    "write `addons.gpuOperator.driver.dataCenter: {version: ...}`: each pool then "
                    "gets an NVIDIADriver of its kind"
                    if by_charts
                    else "set addons.gpuOperator.values.driver.nvidiaDriverCRD.enabled: true and "
                    "make one NVIDIADriver for each kind"
                )
                + ", or put the kinds into two clusters"
            ),
            others=others,
            guests=[pool.name for pool, _, _, _ in guests],
        )
