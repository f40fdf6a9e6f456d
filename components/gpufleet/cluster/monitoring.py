"""Monitoring, budgets, and quotas of namespaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSource(Subject):
    """A source of GPU metrics: DCGM exporter, GKE's managed DCGM, CloudWatch's add-on."""

    what: str
    blind: str = ""
    """Field path of a container that reports the pods of GPUs and cannot query the kubelet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredNamespace(Subject):
    """A namespace that the checked input creates."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuQuota(Subject):
    """A ResourceQuota."""

    covers_gpus: bool
    hard: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resource -> maximum that all pods of the namespace may request, if known."""
    uncounted: tuple[str, ...] = ()
    """GPU keys of `hard` for which the API server counts no usage."""
