"""Sharing by GKE's own device plugin: each GPU filled with one MIG profile, few clients."""

from collections.abc import Iterable
from dataclasses import replace

from gpufleet.catalogue import InstanceType, NodeImage
from gpufleet.findings import Finding, rules_in
from gpufleet.spec.pool import GpuPool
from gpufleet.spec.sharing import MigStrategy, Sharing

_rules = rules_in(__file__)

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
    """Findings about sharing that GKE's plugin would refuse; none with the GPU Operator. A
    ComputeClass has type, number and driver of GPUs, but no partition and no clients."""
    found = list(_rules("class-sharing", f"{path}.sharing.{pool.sharing.mode}", pool=pool))
    if not served_by_gke(pool) or machine is None:
        return found
    return [*found, *_mig(pool, path, machine), *_rules("sharing", path, sharing=pool.sharing)]


def _mig(pool: GpuPool, path: str, machine: InstanceType) -> Iterable[Finding]:
    mig, sizes = pool.sharing.mig, machine.offered_partition_sizes
    if mig is None:
        return
    place = f"{path}.sharing.mig.layouts"
    profiles = sorted({profile for layout in mig.layouts for profile in layout.devices})
    covered = [layout.gpus for layout in mig.layouts]
    whole = covered == ["all"] or sum(n for n in covered if isinstance(n, int)) == (
        machine.accelerator.count
    )
    known = {"profiles": profiles, "sizes": sizes, "listed": ", ".join(sizes) or "none"}
    yield from _rules("mig", place, whole=whole, offered=list(sizes), machine=machine, **known)
    if len(profiles) != 1 or not whole or (profile := profiles[0]) not in sizes:
        return
    for index, layout in enumerate(mig.layouts):
        if (found := layout.devices.get(profile, 0)) != (limit := sizes[profile]):
            entry = f'{place}[{index}].devices["{profile}"]'
            yield from _rules("partition", entry, profile=profile, limit=limit, found=found)
