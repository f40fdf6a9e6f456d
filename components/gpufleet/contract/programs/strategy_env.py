"""The MIG strategy in force on a node, if the context gives it."""

from gpufleet.cluster.site import Site

OPERATOR_STRATEGY = "single"
"""`mig.strategy` of the gpu-operator chart if it is not set (v26.7.0)."""


def allows_mps(strategy: str | None) -> bool:
    """Whether the device plugin shares GPUs by MPS under a MIG strategy, which applies to the whole
    cluster. Under `mixed` it does not start, with or without MIG on the node: the rule
    `device-plugin-mps-mixed` has the source."""
    return strategy != "mixed"


def mig_strategy(context: Site) -> str | None:
    """MIG_STRATEGY in the plugin's environment; None if it is not set or not known.

    An explicit environment has precedence, then the chart that sets it: the GPU Operator exports
    its `mig.strategy`, the device plugin's chart its `migStrategy`.
    """
    if context.env is not None and "MIG_STRATEGY" in context.env:
        return context.env["MIG_STRATEGY"]
    written = written_strategy(context)
    if written is not None or context.chart is None:
        return written
    return OPERATOR_STRATEGY if context.chart.name == "gpu-operator" else None


def written_strategy(context: Site) -> str | None:
    """The strategy in the values of the chart; None if the chart's default applies."""
    chart = context.chart
    written = chart and (chart.value("mig.strategy") or chart.value("migStrategy"))
    return written if isinstance(written, str) else None
