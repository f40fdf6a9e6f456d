"""Values that the device plugin's own chart refuses, if the context names that chart."""

from collections.abc import Mapping
from typing import Any, cast

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.programs.validation import CheckReport

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
    values = chart.values or {}
    if chart.namespace.found == "default" and values.get("allowDefaultNamespace") is not True:
        report.say("device-plugin-chart-default-namespace", "context.chart.namespace")
    if values.get("namespace"):
        report.say("device-plugin-chart-namespace-value", "context.chart.values.namespace")
    config = chart.value("config")
    if isinstance(config, Mapping):
        _validate_config(cast("Mapping[str, Any]", config), report)


def _validate_config(config: Mapping[str, Any], report: CheckReport) -> None:
    raw: Any = config.get("map")
    keys: list[str] = list(cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else []
    default = config.get("default")
    if config.get("name") and keys:
        report.say("device-plugin-chart-two-configs", "context.chart.values.config")
    if keys and not default and not _falls_back(config):
        report.add(
            "device-plugin-chart-no-default",
            "context.chart.values.config.default",
            f"config.map has the {'keys' if len(keys) > 1 else 'key'} {', '.join(keys)}, there is "
            "no config.default, and no fallback applies",
            f"one of {', '.join(keys)}",
            keys=tuple(keys),
        )
    if default and not keys and not config.get("name"):
        report.say(
            "device-plugin-chart-default-alone",
            "context.chart.values.config.default",
            value=shown(default),
        )
    if default and keys and default not in keys:
        report.say(
            "device-plugin-chart-default-absent",
            "context.chart.values.config.default",
            value=default,
            keys=tuple(keys),
            default=shown(default),
        )


def default_config(config: Mapping[str, Any]) -> str | None:
    """The key of `config.map` for nodes without a label: `config.default`, or the chart's own
    choice (templates/_helpers.tpl, hasDefaultConfig); None if there is none."""
    raw: Any = config.get("map")
    keys: list[str] = list(cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else []
    default: Any = config.get("default")
    if default:
        return default if isinstance(default, str) else None
    given: Any = config.get("fallbackStrategies", _FALLBACKS)
    fallbacks = cast("list[Any]", given) if isinstance(given, list) else []
    if "named" in fallbacks and "default" in keys:
        return "default"
    return keys[0] if "single" in fallbacks and len(keys) == 1 else None


def _falls_back(config: Mapping[str, Any]) -> bool:
    """Whether the chart needs no `config.default`."""
    given: Any = config.get("fallbackStrategies", _FALLBACKS)
    empty = isinstance(given, list) and "empty" in cast("list[Any]", given)
    return empty or default_config(config) is not None
