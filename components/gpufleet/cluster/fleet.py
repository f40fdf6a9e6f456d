"""FleetFacts: the properties of GpuFleet that rules need.

Money is micro-dollars an hour, memory is bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from gpufleet.cluster.fact import Fact, absent
from gpufleet.cluster.subject import Subject
from gpufleet.environment import PRODUCTION
from gpufleet.findings import Finding
from gpufleet.findings.locator import Locator
from gpufleet.partition.grant import Grant

COMMITTED = frozenset({"reserved", "capacityBlock", "onPrem"})
"""Capacity types that cost the same whether a node runs or not: fixed sizes are correct there."""


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """One pool."""

    name: str
    path: str
    """Path of its declaration: `pools[0]`."""
    intent: str
    gpu: str
    """Key in the catalogue."""
    gpus_per_node: int
    gpu_fraction: Fraction
    """Share of a physical GPU that each device has."""
    machines: tuple[str, ...]
    minimum_nodes: int
    expected_nodes: int
    maximum_nodes: int
    capacity: tuple[str, ...]
    """Capacity types in order of preference: `onDemand`, `spot`, `reserved`, ..."""
    sharing: str
    shares: tuple[Grant, ...]
    """Resources that a pod can request from it."""
    layouts: tuple[Mapping[str, int], ...]
    """MIG profile -> instances, for each GPU of a node; empty: a whole GPU."""
    stranded_compute: int
    """Compute slices of a node that no further instance could use."""
    labels: Mapping[str, str]
    hourly_micro_usd: Fact[int]
    """Price of one node with the first capacity type; absent: no price is known."""
    minimum_spend: Fact[int]
    """Absent: unbounded."""
    maximum_spend: Fact[int]
    """Absent: unbounded."""
    image: str = ""
    """Node image, by its key in the catalogue; empty: the platform has no choice of images."""
    team: str = ""
    """The team that pays for it; empty: not declared."""

    @property
    def is_committed(self) -> bool:
        """Whether any of its capacity is paid for even if unused."""
        return bool(COMMITTED.intersection(self.capacity))

    def share(self, resource: str) -> Grant | None:
        """The share behind one unit of this resource; the smallest if several have the name."""
        offered = [share for share in self.shares if share.resource == resource]
        return min(offered, key=lambda s: (s.memory_bytes or 0, s.replicas), default=None)


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """One compiled fleet."""

    locator: Locator
    environment: Fact[str]
    platform: str
    catalogue: str
    pools: tuple[PoolFacts, ...]
    budget_micro_usd: Fact[int]
    """Absent: no budget was set."""
    minimum_spend: Fact[int]
    """Absent: unbounded, see `unbounded`."""
    maximum_spend: Fact[int]
    """Absent: unbounded, see `unbounded`."""
    unbounded: tuple[str, ...]
    """Why a bound is missing, each cause naming its pool."""
    exceptions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rule id -> reason and end date, from GpuFleet's `policyExceptions`."""
    monitored: bool = False
    """Whether its GPU Operator runs the DCGM exporter."""
    in_program: bool = True
    """Whether it is a resource of the checked program. False: a setting refers to it."""
    kubernetes_version: str = ""
    """Minor version of its cluster, `1.35`; empty: not declared."""

    @property
    def is_production(self) -> Fact[bool]:
        """Whether it serves production; an unknown environment is neither."""
        if not self.environment.is_known:
            return absent("environment")
        return Fact(
            self.environment.state,
            self.environment.value.lower() in PRODUCTION,
            self.environment.provenance,
            "environment",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UncompiledFleet(Subject):
    """A declaration that does not compile: the resources of its pools are not known."""

    findings: tuple[Finding, ...]
    """Findings of `gpufleet compile`; at least one is an error."""
