"""Groups of pods with whole GPUs, and how findings name them."""

from collections.abc import Iterator

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU


def gpu_groups(workload: WorkloadFacts) -> Iterator[tuple[PodGroup, int, int]]:
    """Groups that certainly have pods with whole GPUs: group, GPUs a pod, pods."""
    for group in workload.running_groups():
        asked = group.pod_gpus(GPU)
        if asked.is_known and asked.value > 0 and group.pods.is_known:
            yield group, asked.value, group.pods.value
