"""Inputs of components: what restates `gpufleet.spec.idle`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import IdleNotebookKindWord


class IdleNotebookArgs(TypedDict):
    """A workload of one user that may be stopped: it has one replica, or none."""

    name: str
    """Name of the workload."""
    namespace: str
    """Its namespace."""
    kind: NotRequired[IdleNotebookKindWord]
    """One of `Deployment`, `StatefulSet`. Default StatefulSet, the usual kind of JupyterLab with
    its own volume."""


class IdlePolicyArgs(TypedDict):
    """Notebooks with idle GPUs are scaled to zero, and start again with a lease. A lease is the
    annotation `gpufleet.dev/lease-until` of the notebook's ScaledObject, a time in RFC 3339 form:
    until then the notebook runs, even if it is idle."""

    after_minutes: int
    """Minutes for which every GPU of the notebook must have been idle, 10 to 1440. There is no
    default. Bounds: those of Google's notebooks (Vertex AI API v1, `NotebookIdleShutdownConfig`,
    read 2026-11-28)."""
    below_percent: NotRequired[float]
    """A GPU is idle while the activity of its engine stays at or below this, in percent, more
    than 0, at most 100. Default 5, as of the alert GpuIdle."""
    notebooks: list[IdleNotebookArgs]
    """The notebooks of the pool, 1 to 500."""
    authentication: NotRequired[str]
    """Name of a ClusterTriggerAuthentication with a bearer token, with which KEDA queries
    `monitoring.queryUrl`, as Thanos of OpenShift requires. Default: no authentication."""
    exempt: NotRequired[list[str]]
    """Names of notebooks that are never stopped, at most 500. Default: none."""
