"""Sharing by GKE's own device plugin: each GPU filled with one MIG profile, few clients."""

from collections.abc import Iterable
from dataclasses import replace

from gpufleet.catalogue import InstanceType, NodeImage
from gpufleet.findings import Finding, error, findings_in
from gpufleet.spec.pool import GpuPool
from gpufleet.spec.sharing import MigStrategy, Sharing

_finding = findings_in(__file__)

MAX_CLIENTS = 48
"""Maximum number of clients per GPU, `max_shared_clients_per_gpu` 2 to 48 (GKE ComputeClass
reference, read
2026-04-25)."""

GKE_PLUGIN_OFF = {"gke-no-default-nvidia-gpu-device-plugin": "true"}
"""Node label that keeps GKE's own device plugin away, so that only the GPU Operator's advertises
(NVIDIA cloud-native-docs `gpu-operator/google-gke.rst`)."""
DRA_NODES = {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"}
"""Node label from which GKE's autoscaler knows that nodes of a pool, even of an empty one, publish
GPUs for claims (GKE documentation, `set-up-dra`; modelplaneai/modelplane issue 306, PR 332)."""


def served_by_gke(pool: GpuPool) -> bool:
    """Whether GKE's own device plugin advertises the pool's GPUs, not the GPU Operator's."""
    return pool.gke is None or pool.gke.driver == "gke"


def without_gke_stack(image: NodeImage) -> NodeImage:
    """The rest of a GKE node's image if the GPU Operator runs the GPU stack: at most the driver.

    GKE's plugin and toolkit stay off. On Container-Optimized OS the operator's driver does not run:
    Google's installer installs it (NVIDIA cloud-native-docs `gpu-operator/google-gke.rst`).
    """
    driver = image.driver and not image.operator_may_install_driver
    return replace(image, driver=driver, toolkit=False, device_plugin=False)


def as_gke_publishes(sharing: Sharing) -> Sharing:
    """The same sharing under the names of GKE's plugin: everything is `nvidia.com/gpu`.

    It has neither a resource per profile nor a `.shared` suffix, and its time-sharing refuses a
    container that requests more than one share (GoogleCloudPlatform/container-engine-accelerators
    `pkg/gpu/nvidia/gpusharing`). Pods select a node by the pool's label.
    """
    plain = {"rename": False}
    turns = plain | {"fail_requests_greater_than_one": True}
    if sharing.time_slicing is not None:
        published = sharing.time_slicing.model_copy(update=turns)
        return sharing.model_copy(update={"time_slicing": published})
    if sharing.mps is not None:
        return sharing.model_copy(update={"mps": sharing.mps.model_copy(update=plain)})
    if sharing.mig is not None:
        nested = sharing.mig.time_slicing
        one_name = {
            "strategy": MigStrategy.SINGLE,
            "time_slicing": None if nested is None else nested.model_copy(update=turns),
        }
        return sharing.model_copy(update={"mig": sharing.mig.model_copy(update=one_name)})
    return sharing


def validate_gke_sharing(pool: GpuPool, path: str, machine: InstanceType | None) -> list[Finding]:
    """Findings about sharing that GKE's plugin would refuse; none with the GPU Operator."""
    if not served_by_gke(pool) or machine is None:
        return []
    return [*_mig(pool, path, machine), *_clients(pool, path)]


_OPERATOR = (
    "or write `gke: {driver: gpuOperator}`, whose MIG manager partitions each GPU as declared"
)


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
    sizes = machine.offered_partition_sizes
    if len(profiles) != 1 or not whole:
        yield error(
            "gke-one-partition-size",
            place,
            f"GKE makes one partition size of a node pool, and {len(profiles)} profiles on "
            "some of the GPUs are declared"
            if not whole
            else f"GKE makes one partition size of a node pool, and {len(profiles)} profiles "
            "are declared",
            f"one profile on all GPUs, {_OPERATOR}",
            found=sorted(profiles),
        )
        return
    profile = next(iter(profiles))
    if profile not in sizes:
        yield _finding(
            "gke-partition-size-unknown",
            place,
            found=profile,
            machine=machine.name,
            sizes=", ".join(sizes) or "none",
            allowed=sizes,
        )
        return
    for index, layout in enumerate(mig.layouts):
        if layout.devices.get(profile) != sizes[profile]:
            yield _finding(
                "gke-partition-not-full",
                f'{place}[{index}].devices["{profile}',
                profile=profile,
                limit=sizes[profile],
                found=layout.devices.get(profile),
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
            yield _finding(
                "gke-too-many-clients", f"{path}.sharing.{key}", limit=MAX_CLIENTS, found=replicas
            )
