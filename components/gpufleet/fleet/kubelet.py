"""Settings of the kubelet's managers, in the form of each platform, and their checks.

Facts: kubernetes/kubernetes v1.36 `pkg/kubelet/cm` (`cpumanager/cpu_manager.go`: the static policy
needs CPU reserved; `memorymanager/memory_manager.go` validateReservedMemory: the reserved memory of
all NUMA nodes equals kube-reserved, system-reserved and the hard eviction threshold together;
`topologymanager`: `restricted` and `single-numa-node` refuse pods).
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.platform_rules import PlatformRules
from gpufleet.spec.kubelet import Kubelet, ManagerPolicy

_finding, _rules = findings_in(__file__), rules_in(__file__)

EVICTION_MIB = 100
"""Hard eviction threshold of memory that the kubelet has by default (`memory.available`). It is
not written: a written threshold removes the defaults of the others."""


def kubelet_configuration(pool: Pool) -> dict[str, Any]:
    """Fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1); empty: nothing is set."""
    declared = pool.spec.kubelet
    if declared is None:
        return {}
    fields: dict[str, Any] = manager_policies(declared)
    if declared.memory_manager is not None:
        # `None`, `Static` (`memorymanager/policy_static.go`, `policy_none.go`)
        fields["memoryManagerPolicy"] = declared.memory_manager.value.title()
    reserved: dict[str, str] = {}
    if declared.reserved_cpus is not None:
        reserved["cpu"] = str(declared.reserved_cpus)
    if declared.reserved_memory_mib is not None:
        memory = declared.reserved_memory_mib
        reserved["memory"] = f"{memory - EVICTION_MIB}Mi"
        if declared.memory_manager is ManagerPolicy.STATIC:
            fields["reservedMemory"] = [{"numaNode": 0, "limits": {"memory": f"{memory}Mi"}}]
    if reserved:
        fields["systemReserved"] = reserved
    return fields


def manager_policies(declared: Kubelet) -> dict[str, Any]:
    """Policies of CPU and topology manager, and the limit of processes, as fields of
    KubeletConfiguration."""
    fields: dict[str, Any] = {}
    if declared.cpu_manager is not None:
        fields["cpuManagerPolicy"] = declared.cpu_manager.value
    if declared.topology_manager is not None:
        policy = declared.topology_manager.name  # SINGLE_NUMA_NODE, in Kubernetes single-numa-node
        fields["topologyManagerPolicy"] = policy.lower().replace("_", "-")
    if declared.topology_scope is not None:
        fields["topologyManagerScope"] = declared.topology_scope.value
    if declared.pod_pids_limit is not None:
        fields["podPidsLimit"] = declared.pod_pids_limit
    return fields


def kubelet_arguments(pool: Pool) -> dict[str, str]:
    """The same as command-line arguments, without leading hyphens."""
    fields = kubelet_configuration(pool)
    names = {
        "cpuManagerPolicy": "cpu-manager-policy",
        "topologyManagerPolicy": "topology-manager-policy",
        "topologyManagerScope": "topology-manager-scope",
        "memoryManagerPolicy": "memory-manager-policy",
        "podPidsLimit": "pod-max-pids",
    }
    found = {names[key]: str(value) for key, value in fields.items() if key in names}
    if "systemReserved" in fields:
        pairs = fields["systemReserved"].items()
        found["system-reserved"] = ",".join(f"{key}={value}" for key, value in pairs)
    for one in fields.get("reservedMemory", ()):
        found["reserved-memory"] = f"{one['numaNode']}:memory={one['limits']['memory']}"
    return found


def validate_kubelet(pool: Pool, rules: PlatformRules) -> Iterator[Finding]:
    """Findings about the managers of one pool."""
    declared = pool.spec.kubelet
    if declared is None:
        return
    place = f"{pool.path}.kubelet"
    written = declared.model_dump(mode="json", by_alias=True, exclude_none=True)
    refused, needed = rules.refused_kubelet_settings(pool), rules.needed_reservations(pool)
    refused = dict.fromkeys(written, refused) if isinstance(refused, str) else refused
    for field, value in written.items():
        if field in refused:
            yield _finding(
                "kubelet-setting-not-here",
                f"{place}.{field}",
                reason=refused[field],
                field=field,
                value=value,
                limit=pool.platform.name.value,
            )
    static = ManagerPolicy.STATIC
    reservations = {
        "reservedCpus": declared.cpu_manager,
        "reservedMemoryMib": declared.memory_manager,
    }
    for field, policy in reservations.items():
        if policy is static and field in needed and field not in written:
            what = "cpuManager" if field == "reservedCpus" else "memoryManager"
            yield _finding(
                "kubelet-reservation-missing",
                f"{place}.{field}",
                what=what,
                limit=field,
                value=static.value,
            )
    yield from _rules("kubelet", place, pool=pool, kubelet=declared)
