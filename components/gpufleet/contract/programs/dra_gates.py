"""The feature gates a configuration of NVIDIA's DRA driver sets, and what contradicts them."""

from collections.abc import Mapping

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.programs.context import CheckContext
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_mapping
from gpufleet.partition.dra_gates import (
    ALPHA,
    BETA,
    DEFAULT_VERSION,
    EXCLUDES,
    NEEDS,
    Version,
    defaults,
)

OPERATOR_VERSION: Version = (0, 5, 0)
"""The driver that the GPU Operator of the catalogue runs."""

_LOGGING = {"ContextualLogging": True, "LoggingAlphaOptions": False, "LoggingBetaOptions": True}
"""Of Kubernetes itself, registered with the driver's."""
_GROUPS = ("AllAlpha", "AllBeta")


def driver_version(context: CheckContext) -> Version:
    """The version of the driver that will read a config."""
    if context.version is not None:
        return context.version
    if context.chart is not None and context.chart.name == "gpu-operator":
        return OPERATOR_VERSION
    return DEFAULT_VERSION


def gates_in_force(context: CheckContext, report: CheckReport) -> Mapping[str, bool]:
    """Every gate with its value; contradictions and unknown gates are reported."""
    written, path = _written(context)
    return validate_gates(written, path, driver_version(context), report)


def validate_gates(
    written: Mapping[str, bool], path: str, version: Version, report: CheckReport
) -> Mapping[str, bool]:
    """Every gate of a driver of this version with its value, where these are written."""
    gates = defaults(version) | _LOGGING
    if written.get("AllAlpha"):
        gates |= {name: True for name in ALPHA if name in gates}
    if written.get("AllBeta") is False:
        gates |= {name: False for name in BETA if name in gates}
    for name, on in written.items():
        if name in gates:
            gates[name] = on
        elif name not in _GROUPS:
            _report_unknown(name, child(path, name), gates, version, report)
    _check(gates, path, report)
    return gates


def gates_known(context: CheckContext) -> bool:
    """Whether the context says how the driver is installed; else a gate that is off is a guess."""
    chart = context.chart
    return bool(context.feature_gates) or (chart is not None and chart.values is not None)


def _written(context: CheckContext) -> tuple[Mapping[str, bool], str]:
    if context.feature_gates or context.chart is None:
        return context.feature_gates, "context.featureGates"
    for key in ("featureGates", "draDriver.featureGates"):
        found = gates_of(context.chart.value(key))
        if found:
            return found, f"context.chart.values.{key}"
    return {}, "context.featureGates"


def gates_of(value: object) -> dict[str, bool]:
    """The gates of a chart's value that are written as booleans."""
    found = as_mapping(value) or {}
    return {name: on for name, on in found.items() if isinstance(on, bool)}


def _report_unknown(
    name: str, path: str, gates: Mapping[str, bool], version: Version, report: CheckReport
) -> None:
    since = ALPHA.get(name) or BETA.get(name)
    near = nearest_names(name, gates, limit=1)
    spelt = ".".join(map(str, version))
    report.add(
        "dra-gate-unknown",
        path,
        f"{spelt} has no feature gate {name}"
        + (f", it came with {'.'.join(map(str, since))}" if since else ""),
        f"write `{near[0]}`" if near and since is None else "remove it",
        value=name,
    )


def _check(gates: Mapping[str, bool], path: str, report: CheckReport) -> None:
    for one, other in EXCLUDES:
        if gates.get(one) and gates.get(other):
            report.add(
                "dra-gates-conflict",
                path,
                f"feature gate {one} is mutually exclusive with {other}",
                f"turn off {one} or {other}",
                gates=(one, other),
            )
    for one, other in NEEDS:
        if gates.get(one) and not gates.get(other):
            report.add(
                "dra-gates-conflict",
                path,
                f"feature gate {one} requires {other}",
                f"turn on {other}, or turn off {one}",
                gates=(one, other),
            )
