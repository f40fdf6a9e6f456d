"""How the kubelet of a pool's nodes places the cores, memory and devices of one pod."""

from enum import StrEnum

from pydantic import Field

from gpufleet.spec.base import SpecModel


class ManagerPolicy(StrEnum):
    """Policy of the CPU manager and of the memory manager."""

    NONE = "none"
    """Pods share all cores or memory."""
    STATIC = "static"
    """Guaranteed pods get exclusive cores, or memory of their NUMA nodes."""


class TopologyPolicy(StrEnum):
    """Policy of the topology manager."""

    NONE = "none"
    BEST_EFFORT = "bestEffort"
    """Aligned if possible."""
    RESTRICTED = "restricted"
    """A pod that cannot be aligned is refused."""
    SINGLE_NUMA_NODE = "singleNumaNode"
    """A pod that one NUMA node cannot hold is refused."""


class TopologyScope(StrEnum):
    """Unit of alignment of the topology manager."""

    CONTAINER = "container"
    POD = "pod"


class Kubelet(SpecModel):
    """The kubelet's managers, which align cores and memory of a pod with its GPUs, and a limit."""

    cpu_manager: ManagerPolicy | None = None
    """`static`: Guaranteed pods that request whole CPUs get exclusive cores. Default: the
    platform's, none."""
    topology_manager: TopologyPolicy | None = None
    """How strictly cores, memory and devices are aligned to NUMA nodes. Default: the platform's,
    none."""
    topology_scope: TopologyScope | None = None
    """Default: container."""
    memory_manager: ManagerPolicy | None = None
    """`static`: memory of Guaranteed pods comes from their NUMA nodes. Default: the platform's,
    none."""
    reserved_cpus: int | None = Field(default=None, ge=1, le=64)
    """CPUs for system and kubelet, 1 to 64. With `cpuManager: static` the kubelet does not start
    without one. Default: the platform's."""
    reserved_memory_mib: int | None = Field(default=None, ge=200, le=262_144)
    """MiB for system, kubelet and the eviction threshold, all on NUMA node 0. With `memoryManager:
    static` it is required if the platform does not compute it."""
    pod_pids_limit: int | None = Field(default=None, ge=1024, le=4_194_304)
    """Maximum processes and threads of one pod, 1,024 to 4,194,304. Default: the platform's."""
