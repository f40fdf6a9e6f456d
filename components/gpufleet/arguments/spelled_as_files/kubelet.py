"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.kubelet`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import ManagerPolicyWord, TopologyPolicyWord, TopologyScopeWord


class KubeletDict(TypedDict):
    """The kubelet's managers, which align cores and memory of a pod with its GPUs, and a
    limit."""

    cpuManager: NotRequired[ManagerPolicyWord]
    """One of `none`, `static`. `static`: Guaranteed pods that request whole CPUs get exclusive
    cores. Default: the platform's, none."""
    topologyManager: NotRequired[TopologyPolicyWord]
    """One of `none`, `bestEffort`, `restricted`, `singleNumaNode`. How strictly cores, memory and
    devices are aligned to NUMA nodes. Default: the platform's, none."""
    topologyScope: NotRequired[TopologyScopeWord]
    """One of `container`, `pod`. Default: container."""
    memoryManager: NotRequired[ManagerPolicyWord]
    """One of `none`, `static`. `static`: memory of Guaranteed pods comes from their NUMA nodes.
    Default: the platform's, none."""
    reservedCpus: NotRequired[int]
    """CPUs for system and kubelet, 1 to 64. With `cpuManager: static` the kubelet does not start
    without one. Default: the platform's."""
    reservedMemoryMib: NotRequired[int]
    """MiB for system, kubelet and the eviction threshold, all on NUMA node 0. With
    `memoryManager: static` it is required if the platform does not compute it."""
    podPidsLimit: NotRequired[int]
    """Maximum processes and threads of one pod, 1,024 to 4,194,304. Default: the platform's."""
