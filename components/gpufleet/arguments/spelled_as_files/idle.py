"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.idle`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.idle import IdleNotebookArgs


class IdlePolicyDict(TypedDict):
    """Notebooks with idle GPUs are scaled to zero, and start again with a lease. A lease is the
    annotation `gpufleet.dev/lease-until` of the notebook's ScaledObject, a time in RFC 3339 form:
    until then the notebook runs, even if it is idle."""

    afterMinutes: int
    """Minutes for which every GPU of the notebook must have been idle, 10 to 1440. There is no
    default. Bounds: those of Google's notebooks (Vertex AI API v1, `NotebookIdleShutdownConfig`,
    read 2026-11-28)."""
    belowPercent: NotRequired[float]
    """A GPU is idle while the activity of its engine stays at or below this, in percent, more
    than 0, at most 100. Default 5, as of the alert GpuIdle."""
    notebooks: Sequence[IdleNotebookArgs]
    """The notebooks of the pool, 1 to 500."""
    authentication: NotRequired[str]
    """Name of a ClusterTriggerAuthentication with a bearer token, with which KEDA queries
    `monitoring.queryUrl`, as Thanos of OpenShift requires. Default: no authentication."""
    exempt: NotRequired[Sequence[str]]
    """Names of notebooks that are never stopped, at most 500. Default: none."""
