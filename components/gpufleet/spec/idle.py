"""Notebooks that scale to zero when their GPU is idle, and exceptions."""

from typing import Annotated, Literal

from pydantic import Field

from gpufleet.spec.base import (
    DnsLabel,
    SecretName,
    SpecModel,
)
from gpufleet.spec.scaling import ScalingTarget


class IdleNotebook(SpecModel):
    """A workload of one user that may be stopped: it has one replica, or none."""

    name: DnsLabel
    """Name of the workload."""
    namespace: DnsLabel
    """Its namespace."""
    kind: Literal["Deployment", "StatefulSet"] = "StatefulSet"
    """Default StatefulSet, the usual kind of JupyterLab with its own volume."""

    @property
    def target(self) -> ScalingTarget:
        """The workload as a scaling target."""
        return ScalingTarget(name=self.name, namespace=self.namespace, kind=self.kind)


class IdlePolicy(SpecModel):
    """Notebooks with idle GPUs are scaled to zero, and start again with a lease.

    A lease is the annotation `gpufleet.dev/lease-until` of the notebook's ScaledObject, a time in
    RFC 3339 form: until then the notebook runs, even if it is idle.
    """

    after_minutes: int = Field(ge=10, le=1440)
    """Minutes for which every GPU of the notebook must have been idle, 10 to 1440. There is no
    default. Bounds: those of Google's notebooks (Vertex AI API v1, `NotebookIdleShutdownConfig`,
    read 2026-11-28)."""
    below_percent: float = Field(default=5.0, gt=0, le=100)
    """A GPU is idle while the activity of its engine stays at or below this, in percent, more than
    0, at most 100. Default 5, as of the alert GpuIdle."""
    notebooks: Annotated[tuple[IdleNotebook, ...], Field(min_length=1, max_length=500)]
    """The notebooks of the pool, 1 to 500."""
    authentication: SecretName | None = None
    """Name of a ClusterTriggerAuthentication with a bearer token, with which KEDA queries
    `monitoring.queryUrl`, as Thanos of OpenShift requires. Default: no authentication."""
    exempt: Annotated[tuple[DnsLabel, ...], Field(max_length=500)] = ()
    """Names of notebooks that are never stopped, at most 500. Default: none."""

    @property
    def stopped(self) -> tuple[IdleNotebook, ...]:
        """The notebooks that may be stopped."""
        return tuple(one for one in self.notebooks if one.name not in self.exempt)
