"""Broken: two parts of a cluster that do not work together, from any input."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from gpufleet.cluster.claims import DeviceClaim
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact, chain, image_fact
from gpufleet.findings import Finding, Severity

GPU_OPERATOR = "gpu-operator"
NETWORK_OPERATOR = "network-operator"
NIC_POLICY = "nic-cluster-policy"
"""The object NicClusterPolicy; its spec is read as the values of a program."""
DEVICE_PLUGIN = "nvidia-device-plugin"
DRA_DRIVER = "dra-driver-nvidia-gpu"
KARPENTER = "karpenter"
NVSENTINEL_CHART = "nvsentinel"
MONITORING_AGENT = "eks-node-monitoring-agent"
"""The EKS add-on, with its configuration as values."""
HEALTH_CHECK = "machine-health-check"
NODE_TESTS = "node-tests"
"""Objects MachineHealthCheck, and DaemonSets of the tests of `acceptance`: their specs are read as
values too."""
"""Programs in relations, by the names of their charts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A violated relation."""

    code: str
    at: NodePool | Program | DeviceClaim | None
    """The object at which it is reported; None: a missing object, or the cluster."""
    place: str
    """The field, in the author's spelling."""
    message: str
    fix: str
    facts: tuple[ContractFact | None, ...]
    """The chain of reasons: each leads to the next."""
    certain: bool = True
    """Whether it cannot work; otherwise it is advice."""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(
        cls, row: Finding, at: NodePool | Program | DeviceClaim | None, *facts: ContractFact | None
    ) -> Self:
        """The relation of a row of `findings.jsonl`: an error is certain. The facts of the row come
        after the given ones, and its source, `where: what`, is the last."""
        evidence: dict[str, Any] = dict(row.evidence)
        own = [ContractFact(**one) for one in evidence.pop("facts", ())]
        source, _, fact = str(evidence.pop("source")).partition(": ")
        return cls(
            code=row.code,
            at=at,
            place=row.path,
            message=row.message,
            fix=row.fix or "",
            facts=(*facts, *own, ContractFact(fact, source)),
            certain=row.severity is Severity.ERROR,
            evidence=evidence,
        )

    @property
    def finding(self) -> Finding:
        """The form in which `compile` reports it."""
        severity = Severity.ERROR if self.certain else Severity.WARNING
        evidence = {**self.evidence, "facts": chain(*self.facts)}
        return Finding(self.code, severity, self.place, self.message, evidence, self.fix)


def place_of(pool: NodePool, field_of_declaration: str, field_of_object: str = "") -> str:
    """A field of a pool in the spelling of its source.

    `field_of_object`: the field in objects that are not declarations; empty: they have none.
    """
    root = pool.declared_at
    return f"{root}.{field_of_declaration}" if root else field_of_object


def image_of(pool: NodePool) -> ContractFact:
    """The parts of a pool's image, as a link of a chain."""
    if not pool.image.is_known:
        return ContractFact(f"{pool.name} runs on an unknown image", place_of(pool, "image"))
    return image_fact(pool.name, pool.image.value, pool.brings.found or frozenset())
