"""The MIG strategy in force on a node, where the context tells."""

from gpufleet.cluster.site import Site

OPERATOR_STRATEGY = "single"
"""`mig.strategy` of the gpu-operator chart when nothing else is written (v26.7.0)."""


def allows_mps(strategy: str | None) -> bool:
    """Whether the device plugin shares GPUs by MPS under a MIG strategy, which holds for the whole
    cluster. Under `mixed` it refuses to start, MIG on the node or not: rule
    `device-plugin-mps-mixed` has the source."""
    return strategy != "mixed"


def mig_strategy(context: Site) -> str | None:
    """What MIG_STRATEGY will be in the plugin's environment; None where it is not set or not known.

    An explicit environment counts first, then the chart that sets it: the GPU Operator exports its
    `mig.strategy`, the device plugin's chart its `migStrategy`.
    """
    if context.env is not None and "MIG_STRATEGY" in context.env:
        return context.env["MIG_STRATEGY"]
    written = written_strategy(context)
    if written is not None or context.chart is None:
        return written
    return OPERATOR_STRATEGY if context.chart.name == "gpu-operator" else None


def written_strategy(context: Site) -> str | None:
    """The strategy that the values of the chart state; None where the chart's default counts."""
    chart = context.chart
    written = chart and (chart.value("mig.strategy") or chart.value("migStrategy"))
    return written if isinstance(written, str) else None
