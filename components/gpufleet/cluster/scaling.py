"""Scaling: minimum and maximum sizes, of a workload's own autoscaling or of an autoscaler."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.fact import NOTHING, Fact
from gpufleet.findings.locator import Locator


@dataclass(frozen=True, slots=True)
class ScalingFacts:
    """Sizes of one group of pods; documented defaults of its kind are applied."""

    place: str
    """Field path that holds the sizes: `spec.workerGroupSpecs[0]`, `spec`."""
    minimum: Fact[int]
    maximum: Fact[int]
    """Absent: no limit."""
    group: str = ""
    """Name of the scaled pod group of the workload; empty: its only group."""
    enabled: Fact[bool] = NOTHING
    """Whether it scales at all; absent: the object exists, so it does."""
    cooldown_seconds: Fact[int] = NOTHING
    """Time until an idle replica is removed; absent: the default of its kind."""
    cooldown_place: str = ""
    """Field path of the cooldown."""
    idle_replicas: Fact[int] = NOTHING
    """KEDA's `idleReplicaCount`."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """An object that scales another one: HorizontalPodAutoscaler, ScaledObject, ScaledJob."""

    locator: Locator
    target_kind: Fact[str]
    target_name: Fact[str]
    scaling: ScalingFacts
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations with known values; exceptions are among them."""


_MIG = "nvidia.com/mig-"


@dataclass(frozen=True, slots=True)
class AutoscalerTarget:
    """A workload that an autoscaler of the same text names."""

    batches: bool
    """Whether one of its images is a server that batches requests."""
    accelerators: frozenset[str]
    """Accelerators that its containers request."""
    lacks_cpu: bool = False
    """Whether one of its containers requests no CPU."""

    @property
    def sliced(self) -> bool:
        """Whether it runs on MIG slices."""
        return any(name.startswith(_MIG) for name in self.accelerators)


TargetKey = tuple[str, str, str]
"""Kind, namespace and name of a workload."""
