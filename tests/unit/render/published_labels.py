"""Labels GPU feature discovery publishes on the nodes of a pool, predicted for comparison.

Source: NVIDIA/k8s-device-plugin `internal/lm` (`resource.go`, `mig-strategy.go`). Registration
labels of a pool's nodes are in `fleet.config_names`.
"""

from gpufleet.catalogue.gpu import Gpu
from gpufleet.partition.grant import Grant
from gpufleet.partition.model import Partition
from gpufleet.partition.profile_name import gpu_instance_of, parse
from gpufleet.partition.shares import MIB, SHARED_SUFFIX

GPU = "nvidia.com/gpu"
LONGEST_VALUE = 63
"""Longest label value Kubernetes accepts: node feature discovery drops longer ones."""
_FAMILIES = {"ampere", "ada-lovelace", "hopper", "blackwell", "turing", "volta", "pascal"}


def product(gpu: Gpu, partition: Partition) -> str | None:
    """Value of `nvidia.com/gpu.product` on the pool's nodes; None where it would be too long, and
    for vGPUs, whose name depends on the guest's driver.

    The bare product name for whole GPUs; `-MIG-<profile>` under the single strategy; suffix
    `-SHARED` where a replicated resource kept its name.
    """
    if partition.vgpu is not None:
        return None
    suffix = ""
    share = partition.shares[0]
    if partition.strategy == "single" and share.profile is not None:
        suffix += f"-MIG-{_dotted(share.profile)}"
    if share.resource == GPU and share.replicas > 1:
        suffix += "-SHARED"
    name = gpu.product_label + suffix
    return name if len(name) <= LONGEST_VALUE else None


def published_labels(
    gpu: Gpu, partition: Partition, cluster_strategy: str | None = None
) -> dict[str, str]:
    """Labels of the pool's nodes that follow from declaration and catalogue.

    `cluster_strategy` is the MIG strategy of the cluster's device plugin, by default what the pool
    needs. Left out: everything that depends on driver, machine and time, media engines, the memory
    of slices (sourced in GiB with two decimals, and the label has MiB), figures the catalogue has
    not sourced, and values too long for a label.
    """
    strategy = cluster_strategy or partition.strategy
    sharing = {"timeSlicing": "time-slicing", "mps": "mps"}.get(partition.mode, "none")
    whole = partition.fraction == 1 and partition.vgpu is None
    labels = {
        # What part of a GPU a cloud assigns is a vGPU.
        "nvidia.com/mig.capable": _boolean(gpu.has_mig and whole),
        "nvidia.com/mps.capable": _boolean(partition.mode == "mps"),
        f"{GPU}.product": product(gpu, partition) or "",
        f"{GPU}.count": str(len(partition.gpus)),
        # GPUs in MIG mode are counted, but have 0 replicas unless the node has whole ones too.
        f"{GPU}.replicas": "0" if all(gpu.mig_enabled for gpu in partition.gpus) else "1",
        f"{GPU}.sharing-strategy": sharing,
    }
    if gpu.memory_bytes is not None and whole:
        labels[f"{GPU}.memory"] = str(gpu.memory_bytes // MIB)
    if gpu.architecture in _FAMILIES:
        labels[f"{GPU}.family"] = gpu.architecture
    if gpu.compute_capability is not None:
        labels[f"{GPU}.compute.major"] = str(gpu.compute_capability[0])
        labels[f"{GPU}.compute.minor"] = str(gpu.compute_capability[1])
    if partition.vgpu is not None:
        labels["nvidia.com/vgpu.present"] = "true"
    if strategy != "none":
        labels["nvidia.com/mig.strategy"] = strategy
    if not partition.mig_enabled:
        labels[f"{GPU}.replicas"] = str(partition.replicas)
    if strategy == "single" and partition.mig_enabled:
        labels.pop(f"{GPU}.memory", None)  # replaced by that of the slices, where it is known
    for share in partition.shares if partition.dra is None else ():
        if share.profile is not None:
            labels |= _slice_labels(gpu, partition, share, share.profile)
    return {k: v for k, v in sorted(labels.items()) if 0 < len(v) <= LONGEST_VALUE}


def _slice_labels(gpu: Gpu, partition: Partition, share: Grant, profile: str) -> dict[str, str]:
    """Labels of one kind of MIG device; under single they replace those of the GPU."""
    single = partition.strategy == "single"
    prefix = GPU if single else share.resource.removesuffix(SHARED_SUFFIX)
    suffix = "-SHARED" if share.replicas > 1 and not partition.rename else ""
    labels = {
        f"{prefix}.count": str(share.per_node // share.replicas),
        f"{prefix}.product": f"{gpu.product_label}-MIG-{_dotted(profile)}{suffix}",
        f"{prefix}.replicas": str(share.replicas),
        f"{prefix}.sharing-strategy": "time-slicing" if share.replicas > 1 else "none",
    }
    geometry = gpu.mig.profiles.get(gpu_instance_of(profile)) if gpu.mig is not None else None
    if geometry is not None:
        name = parse(profile)
        inside = name.compute_instance_slices if name is not None else None
        labels[f"{prefix}.slices.gi"] = str(geometry.compute_slices)
        labels[f"{prefix}.slices.ci"] = str(inside or geometry.compute_slices)
        if geometry.multiprocessors is not None and inside in {None, geometry.compute_slices}:
            labels[f"{prefix}.multiprocessors"] = str(geometry.multiprocessors)
    return labels


def _dotted(profile: str) -> str:
    return profile.replace("+", ".").replace(",", ".")


def _boolean(value: bool) -> str:
    return "true" if value else "false"
