"""What GKE's own device plugin can share: each GPU filled with one MIG profile, few clients."""

from collections.abc import Iterable

from gpufleet.catalogue.model import InstanceType
from gpufleet.findings import Finding, error
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import GpuPool

MAX_CLIENTS = 48
"""Most clients per GPU, `max_shared_clients_per_gpu` 2 to 48 (GKE ComputeClass reference, read
2026-04-25)."""


def judge_gke_sharing(
    pool: GpuPool, path: str, platform: Platform, machine: InstanceType | None
) -> list[Finding]:
    """Findings about sharing that GKE's plugin would refuse; none with the GPU Operator."""
    operator = pool.gke is not None and pool.gke.driver == "gpuOperator"
    if platform is not Platform.GKE or operator or machine is None:
        return []
    return [*_mig(pool, path, machine), *_clients(pool, path)]


_OPERATOR = "or write `gke: {driver: gpuOperator}`, whose MIG manager cuts each GPU as declared"


def _mig(pool: GpuPool, path: str, machine: InstanceType) -> Iterable[Finding]:
    mig = pool.sharing.mig
    if mig is None:
        return
    place = f"{path}.sharing.mig.layouts"
    profiles = {profile for layout in mig.layouts for profile in layout.devices}
    covered = [layout.gpus for layout in mig.layouts]
    whole = covered == ["all"] or sum(n for n in covered if isinstance(n, int)) == (
        machine.accelerator.count
    )
    sizes = machine.gke_partition_sizes
    if len(profiles) != 1 or not whole:
        yield error(
            "gke-one-partition-size",
            place,
            f"GKE cuts every GPU of a node pool into one size, and {len(profiles)} profiles on "
            "some of the GPUs are declared"
            if not whole
            else f"GKE cuts every GPU of a node pool into one size, and {len(profiles)} profiles "
            "are declared",
            f"one profile on all GPUs, {_OPERATOR}",
            found=sorted(profiles),
        )
        return
    profile = next(iter(profiles))
    if profile not in sizes:
        yield error(
            "gke-partition-size-unknown",
            place,
            f"GKE offers no {profile} on {machine.name}; it offers {', '.join(sizes) or 'none'}",
            f"one of those, {_OPERATOR}",
            found=profile,
            allowed=list(sizes),
        )
        return
    for index, layout in enumerate(mig.layouts):
        if layout.devices.get(profile) != sizes[profile]:
            yield error(
                "gke-partition-not-full",
                f'{place}[{index}].devices["{profile}"]',
                f"GKE fills the GPU: {profile} gives {sizes[profile]} partitions, and "
                f"{layout.devices.get(profile)} are declared",
                f"write {sizes[profile]}, {_OPERATOR}",
                found=layout.devices.get(profile),
                limit=sizes[profile],
            )


def _clients(pool: GpuPool, path: str) -> Iterable[Finding]:
    sharing = pool.sharing
    nested = sharing.mig.time_slicing if sharing.mig is not None else None
    for key, replicas in (
        ("timeSlicing", sharing.time_slicing.replicas if sharing.time_slicing else 0),
        ("mps", sharing.mps.replicas if sharing.mps else 0),
        ("mig.timeSlicing", nested.replicas if nested else 0),
    ):
        if replicas > MAX_CLIENTS:
            yield error(
                "gke-too-many-clients",
                f"{path}.sharing.{key}.replicas",
                f"GKE allows at most {MAX_CLIENTS} clients per GPU, and {replicas} are declared",
                f"write {MAX_CLIENTS}",
                found=replicas,
                limit=MAX_CLIENTS,
            )
