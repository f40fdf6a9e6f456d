"""Inputs of components: what restates `gpufleet.spec.kubelet`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import ManagerPolicyWord, TopologyPolicyWord, TopologyScopeWord


class KubeletArgs(TypedDict):
    """The kubelet's managers, which align cores and memory of a pod with its GPUs, and a
    limit."""

    cpu_manager: NotRequired[ManagerPolicyWord]
    """One of `none`, `static`. `static`: Guaranteed pods that request whole CPUs get exclusive
    cores. Default: the platform's, none."""
    topology_manager: NotRequired[TopologyPolicyWord]
    """One of `none`, `bestEffort`, `restricted`, `singleNumaNode`. How strictly cores, memory and
    devices are aligned to NUMA nodes. Default: the platform's, none."""
    topology_scope: NotRequired[TopologyScopeWord]
    """One of `container`, `pod`. Default: container."""
    memory_manager: NotRequired[ManagerPolicyWord]
    """One of `none`, `static`. `static`: memory of Guaranteed pods comes from their NUMA nodes.
    Default: the platform's, none."""
    reserved_cpus: NotRequired[int]
    """CPUs for system and kubelet, 1 to 64. With `cpuManager: static` the kubelet does not start
    without one. Default: the platform's."""
    reserved_memory_mib: NotRequired[int]
    """MiB for system, kubelet and the eviction threshold, all on NUMA node 0. With
    `memoryManager: static` it is required if the platform does not compute it."""
    pod_pids_limit: NotRequired[int]
    """Maximum processes and threads of one pod, 1,024 to 4,194,304. Default: the platform's."""
