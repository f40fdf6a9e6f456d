"""Monitoring, budgets, and quotas of namespaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSource(Subject):
    """A source of GPU metrics: DCGM exporter, GKE's managed DCGM, CloudWatch's add-on."""

    what: str
    blind: str = ""
    """Field path of the container that is to name the pods of GPUs and cannot ask the kubelet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredNamespace(Subject):
    """A namespace that is made here."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuQuota(Subject):
    """A ResourceQuota."""

    covers_gpus: bool
    hard: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resource -> number that all pods of the namespace may ask for, where it is known."""
    uncounted: tuple[str, ...] = ()
    """Keys of `hard` about GPUs of which the API server counts no use."""
