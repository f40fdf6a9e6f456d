"""Scaling: between which sizes something grows and shrinks, by itself or by an autoscaler."""

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
    """Absent: nothing limits it."""
    group: str = ""
    """Name of the pod group of the workload that is scaled; empty: its only one."""
    enabled: Fact[bool] = NOTHING
    """Whether anything scales it at all; absent: the object's existence says yes."""
    cooldown_seconds: Fact[int] = NOTHING
    """How long an idle replica stays before it goes; absent: the default of its kind."""
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
    """Those whose values are known; exceptions are among them."""


_MIG = "nvidia.com/mig-"


@dataclass(frozen=True, slots=True)
class AutoscalerTarget:
    """A workload of the same text that an autoscaler names."""

    batches: bool
    """Whether one of its images is of a server that batches requests."""
    accelerators: frozenset[str]
    """Accelerators its containers ask for."""

    @property
    def sliced(self) -> bool:
        """Whether it runs on MIG slices."""
        return any(name.startswith(_MIG) for name in self.accelerators)


TargetKey = tuple[str, str, str]
"""Kind, namespace and name of a workload."""
