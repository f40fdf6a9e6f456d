"""Notebooks that go to zero when their GPU does nothing, and who is left alone."""

from typing import Annotated, Literal

from pydantic import Field

from gpufleet.spec.base import (
    DnsLabel,
    SecretName,
    SpecModel,
)
from gpufleet.spec.scaling import ScalingTarget


class IdleNotebook(SpecModel):
    """A workload of one person that may be stopped: it has one replica, or none."""

    name: DnsLabel
    """Name of the workload."""
    namespace: DnsLabel
    """Its namespace."""
    kind: Literal["Deployment", "StatefulSet"] = "StatefulSet"
    """Default StatefulSet, as JupyterLab behind a volume of its own is run."""

    @property
    def target(self) -> ScalingTarget:
        """The workload as what is scaled."""
        return ScalingTarget(name=self.name, namespace=self.namespace, kind=self.kind)


class IdlePolicy(SpecModel):
    """Notebooks whose GPUs do nothing are scaled to zero, and come back with a lease.

    A lease is the annotation `gpufleet.dev/lease-until` of the notebook's ScaledObject, a time as
    RFC 3339 writes it: until then the notebook runs, however idle it is.
    """

    after_minutes: int = Field(ge=10, le=1440)
    """How long every GPU of the notebook must have done nothing, 10 to 1440 minutes. There is no
    default. Bounds: those of Google's notebooks (Vertex AI API v1, `NotebookIdleShutdownConfig`,
    read 2026-11-28)."""
    below_percent: float = Field(default=5.0, gt=0, le=100)
    """A GPU does nothing while its engine was never busier than this, in percent, more than 0, at
    most 100. Default 5, as of the alert GpuIdle."""
    notebooks: Annotated[tuple[IdleNotebook, ...], Field(min_length=1, max_length=500)]
    """The notebooks of the pool, 1 to 500."""
    authentication: SecretName | None = None
    """Name of a ClusterTriggerAuthentication with a bearer token, by which KEDA asks
    `monitoring.queryUrl`, as Thanos of OpenShift wants it. Default: no authentication."""
    exempt: Annotated[tuple[DnsLabel, ...], Field(max_length=500)] = ()
    """Names of those that are never stopped, at most 500. Default: none."""

    @property
    def stopped(self) -> tuple[IdleNotebook, ...]:
        """Those that may be stopped."""
        return tuple(one for one in self.notebooks if one.name not in self.exempt)
