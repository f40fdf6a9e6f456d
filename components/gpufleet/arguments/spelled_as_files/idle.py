"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.idle`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from gpufleet.arguments.idle import IdleNotebookArgs


class IdlePolicyDict(TypedDict):
    """Notebooks whose GPUs do nothing are scaled to zero, and come back with a lease. A lease is
    the annotation `gpufleet.dev/lease-until` of the notebook's ScaledObject, a time as RFC 3339
    writes it: until then the notebook runs, however idle it is."""

    afterMinutes: int
    """How long every GPU of the notebook must have done nothing, 10 to 1440 minutes. There is no
    default. Bounds: those of Google's notebooks (Vertex AI API v1, `NotebookIdleShutdownConfig`,
    read 2026-11-28)."""
    belowPercent: NotRequired[float]
    """A GPU does nothing while its engine was never busier than this, in percent, more than 0, at
    most 100. Default 5, as of the alert GpuIdle."""
    notebooks: Sequence[IdleNotebookArgs]
    """The notebooks of the pool, 1 to 500."""
    authentication: NotRequired[str]
    """Name of a ClusterTriggerAuthentication with a bearer token, by which KEDA asks
    `monitoring.queryUrl`, as Thanos of OpenShift wants it. Default: no authentication."""
    exempt: NotRequired[Sequence[str]]
    """Names of those that are never stopped, at most 500. Default: none."""
