"""Values that the device plugin's own chart refuses, if the context names that chart."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.shapes import as_list, as_mapping

CHART = "nvidia-device-plugin"
MPS_ROOT_CHARTS = (CHART, "gpu-operator")
"""Charts that set MPS_ROOT to /run/nvidia/mps."""
_FALLBACKS = ["named", "single"]
"""The chart's own `config.fallbackStrategies`."""


def validate_chart(context: Site, report: CheckReport) -> None:
    """Rules of the chart nvidia-device-plugin (v0.20.0) over its values and namespace."""
    chart = context.chart
    if chart is None or (chart.name is not None and chart.name != CHART):
        return
    report.apply("chart", chart=chart)
    config = as_mapping(chart.value("config"))
    if config is None:
        return
    keys = list(as_mapping(config.get("map")) or {})
    report.apply("chart config", config=config, keys=keys)
    if keys and not config.get("default") and not _falls_back(config):
        report.add(
            "device-plugin-chart-no-default",
            "context.chart.values.config.default",
            f"config.map has the {'keys' if len(keys) > 1 else 'key'} {', '.join(keys)}, there is "
            "no config.default, and no fallback applies",
            f"one of {', '.join(keys)}",
            keys=tuple(keys),
        )


def default_config(config: Mapping[str, Any]) -> str | None:
    """The key of `config.map` for nodes without a label: `config.default`, or the chart's own
    choice (templates/_helpers.tpl, hasDefaultConfig); None if there is none."""
    keys = list(as_mapping(config.get("map")) or {})
    default: Any = config.get("default")
    if default:
        return default if isinstance(default, str) else None
    fallbacks = as_list(config.get("fallbackStrategies", _FALLBACKS)) or []
    if "named" in fallbacks and "default" in keys:
        return "default"
    return keys[0] if "single" in fallbacks and len(keys) == 1 else None


def _falls_back(config: Mapping[str, Any]) -> bool:
    """Whether the chart needs no `config.default`."""
    fallbacks = as_list(config.get("fallbackStrategies", _FALLBACKS)) or []
    return "empty" in fallbacks or default_config(config) is not None
