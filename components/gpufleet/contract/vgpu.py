"""Whether vGPU pools can work together: hypervisor, guest driver, licence, sizes on one GPU.

Facts: NVIDIA GPU Operator documentation (vGPU, NVIDIADriver), NVIDIA AI Enterprise 6.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from gpufleet.contract.dra import Member
from gpufleet.contract.platform import Platforms
from gpufleet.findings import Finding, error, warning
from gpufleet.partition.vgpu import VgpuCut, scheduler_value
from gpufleet.spec.fleet_spec import FleetSpec


def validate_vgpu(
    members: Sequence[Member], spec: FleetSpec, platforms: Platforms
) -> Iterator[Finding]:
    """Findings about all vGPU pools together; none without such a pool."""
    guests = [member for member in members if member[2].vgpu is not None]
    if not guests:
        return
    facts = platforms[spec.platform].facts
    for _, path, _, _ in guests:
        if not facts.vgpu:
            yield error(
                "vgpu-needs-hypervisor",
                f"{path}.sharing.vgpu",
                f"a vGPU profile cannot be chosen on {spec.platform.value}",
                "choose an instance type with a fraction of a GPU, or another way of sharing",
                value=spec.platform.value,
                allowed=tuple(p.value for p, one in platforms.items() if one.facts.vgpu),
            )
    yield from _validate_license(guests, spec)
    yield from _validate_secrets(guests)
    yield from _validate_sizes(guests)
    yield from _validate_schedulers(guests)
    if facts.vgpu and not facts.simulated:
        yield from _validate_guest_driver(guests, spec)
        yield from _validate_kinds(members, guests, spec, by_charts=not facts.lifecycle_manager)


def license_secrets(members: Iterable[Member]) -> tuple[str, ...]:
    """Secrets the vGPU pools name, without repetition, by name."""
    named = {part.vgpu.license_secret for _, _, part, _ in members if part.vgpu is not None}
    return tuple(sorted(name for name in named if name is not None))


def _validate_license(guests: Sequence[Member], spec: FleetSpec) -> Iterable[Finding]:
    """The operator's own licensing serves pools that name no Secret."""
    if spec.addons.gpu_operator.driver.licensing is not None:
        return
    for _, path, partition, _ in guests:
        if partition.vgpu is not None and partition.vgpu.license_secret is None:
            yield warning(
                "vgpu-unlicensed",
                f"{path}.sharing.vgpu.licenseSecret",
                "no Secret with a licence token is named: an unlicensed guest is throttled after "
                "a while",
                "name a Secret that holds `gridd.conf` and `client_configuration_token.tok`",
            )


def _validate_secrets(guests: Sequence[Member]) -> Iterable[Finding]:
    secrets = license_secrets(guests)
    if len(secrets) > 1:
        yield error(
            "vgpu-licenses-differ",
            f"{guests[-1][1]}.sharing.vgpu.licenseSecret",
            f"the GPU Operator mounts one licence for the whole cluster, and {', '.join(secrets)} "
            "are named",
            f"name {secrets[0]} everywhere",
            value=secrets,
            limit=1,
        )


def _validate_sizes(guests: Sequence[Member]) -> Iterable[Finding]:
    """A GPU takes vGPUs of one size unless its host allows mixed ones, and is MIG-backed or not."""

    def kind(made: VgpuCut) -> str:
        return "MIG-backed" if made.mig_backed else f"{made.type.gigabytes} GB"

    for gpu, path, shown, kinds in _several(guests, kind):
        yield warning(
            "vgpu-sizes-differ",
            f"{path}.sharing.vgpu.profile",
            f"one {gpu} is either MIG-backed or time-sliced, and time-sliced in one size ({shown}):"
            " these pools cannot share a GPU, whatever is free on it",
            "use one size, or plan hosts for each",
            kinds=kinds,
        )


def _validate_schedulers(guests: Sequence[Member]) -> Iterable[Finding]:
    """The scheduler is a setting of a host's GPU, for all vGPUs on it."""

    def value(made: VgpuCut) -> str | None:
        scheduler = made.scheduler
        return None if scheduler is None else scheduler_value(scheduler, made.time_slice_ms)

    for gpu, path, shown, values in _several(guests, value):
        yield warning(
            "vgpu-schedulers-differ",
            f"{path}.sharing.vgpu.scheduler",
            f"the scheduler is a setting of a host's GPU, and pools of {gpu} want several "
            f"({shown}): they cannot share a GPU",
            "write one scheduler, or keep the pools on hosts of their own",
            values=values,
        )


def _several(
    guests: Sequence[Member], of: Callable[[VgpuCut], str | None]
) -> Iterator[tuple[str, str, str, dict[str, tuple[str, ...]]]]:
    """GPUs of which pools want several values: with the path of the last such pool, the values
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
    """The guest driver is in a private image that the user builds: no one may publish it."""
    operator = spec.addons.gpu_operator
    driver = _mapping(operator.values.get("driver"))
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
        yield error(
            "vgpu-guest-driver-missing",
            missing[0],
            f"{', '.join(needs)} need the vGPU guest driver, which comes from your own private "
            f"image; not given: {', '.join(missing)}",
            "give the repository, the version and the pull secret of your image",
            missing=tuple(missing),
        )


def _validate_kinds(
    members: Sequence[Member], guests: Sequence[Member], spec: FleetSpec, *, by_charts: bool
) -> Iterable[Finding]:
    """Guest and data-centre driver are two drivers: one ClusterPolicy installs one of them."""
    others = [pool.name for pool, _, part, _ in members if part.vgpu is None]
    driver = _mapping(spec.addons.gpu_operator.values.get("driver"))
    separate = _mapping(driver.get("nvidiaDriverCRD")).get("enabled") is True
    if by_charts and spec.addons.gpu_operator.driver.data_center is not None:
        return
    if others and not separate:
        yield error(
            "vgpu-and-passthrough-drivers",
            f"{guests[0][1]}.sharing.vgpu",
            f"{', '.join(others)} need the data-centre driver and "
            f"{', '.join(pool.name for pool, _, _, _ in guests)} the vGPU guest driver; the "
            "operator installs one driver unless there is an NVIDIADriver for each kind",
            (
                "write `addons.gpuOperator.driver.dataCenter: {version: ...}`: each pool then gets "
                "an NVIDIADriver of its kind"
                if by_charts
                else "set addons.gpuOperator.values.driver.nvidiaDriverCRD.enabled: true and make "
                "one NVIDIADriver for each kind"
            )
            + ", or put the kinds into two clusters",
            others=tuple(others),
        )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
