"""Inputs of components: what restates `gpufleet.spec.idle`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import IdleNotebookKindWord


class IdleNotebookArgs(TypedDict):
    """A workload of one person that may be stopped: it has one replica, or none."""

    name: str
    """Name of the workload."""
    namespace: str
    """Its namespace."""
    kind: NotRequired[IdleNotebookKindWord]
    """One of `Deployment`, `StatefulSet`. Default StatefulSet, as JupyterLab behind a volume of
    its own is run."""


class IdlePolicyArgs(TypedDict):
    """Notebooks whose GPUs do nothing are scaled to zero, and come back with a lease. A lease is
    the annotation `gpufleet.dev/lease-until` of the notebook's ScaledObject, a time as RFC 3339
    writes it: until then the notebook runs, however idle it is."""

    after_minutes: int
    """How long every GPU of the notebook must have done nothing, 10 to 1440 minutes. There is no
    default. Bounds: those of Google's notebooks (Vertex AI API v1, `NotebookIdleShutdownConfig`,
    read 2026-11-28)."""
    below_percent: NotRequired[float]
    """A GPU does nothing while its engine was never busier than this, in percent, more than 0, at
    most 100. Default 5, as of the alert GpuIdle."""
    notebooks: list[IdleNotebookArgs]
    """The notebooks of the pool, 1 to 500."""
    authentication: NotRequired[str]
    """Name of a ClusterTriggerAuthentication with a bearer token, by which KEDA asks
    `monitoring.queryUrl`, as Thanos of OpenShift wants it. Default: no authentication."""
    exempt: NotRequired[list[str]]
    """Names of those that are never stopped, at most 500. Default: none."""
