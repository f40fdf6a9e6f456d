"""The feature gates in a configuration of NVIDIA's DRA driver, and their contradictions."""

from collections.abc import Mapping

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.cluster.fact import NOTHING
from gpufleet.cluster.program import KUBERNETES, Reader, decided_release
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_mapping
from gpufleet.partition.dra_gates import EXCLUDES, NEEDS

_LOGGING = {"ContextualLogging": True, "LoggingAlphaOptions": False, "LoggingBetaOptions": True}
"""Gates of Kubernetes itself, registered with those of the driver."""
DRIVER = "dra-driver-nvidia-gpu"
_GROUPS = ("AllAlpha", "AllBeta")


def gates_in_force(context: Site, report: CheckReport) -> Mapping[str, bool]:
    """Every gate with its value; contradictions and unknown gates are reported. A context lists the
    gates of Kubernetes in the same place."""
    (written, path), driver = _written(context), context.release_of(DRIVER)
    if path == "context.featureGates":
        of_cluster = context.catalogue.features(KUBERNETES).gates.keys() - driver.gates.keys()
        written = {name: on for name, on in written.items() if name not in of_cluster}
    return validate_gates(written, path, driver, report)


def validate_gates(
    written: Mapping[str, bool], path: str, driver: Reader, report: CheckReport
) -> Mapping[str, bool]:
    """Every gate of a driver of this release with its value, if these are written."""
    own = driver.gates
    gates = own | _LOGGING
    if written.get("AllAlpha"):
        gates |= {name: True for name, on in own.items() if not on}
    if written.get("AllBeta") is False:
        gates |= {name: False for name, on in own.items() if on}
    for name, on in written.items():
        if name in gates:
            gates[name] = on
        elif name not in _GROUPS and not _may_be_newer(name, driver):
            message, fix = unknown_gate(name, driver)
            place, some = child(path, name), driver.numbers is None
            report.add("dra-gate-unknown", place, message, fix, uncertain=some, value=name)
    _check(gates, path, report)
    return gates


def _may_be_newer(name: str, driver: Reader) -> bool:
    """Whether a gate that is in no release of the catalogue may be in a later one."""
    if name in driver.features.gates or nearest_names(name, driver.gates, limit=1):
        return False
    pinned = numbers(decided_release(DRIVER, NOTHING).value)
    return driver.numbers is not None and (driver.is_line or driver.at > pinned)


def gates_known(context: Site) -> bool:
    """Whether the context describes the driver's installation; else a gate may not be off."""
    chart = context.chart
    return context.gates_named or (chart is not None and chart.values is not None)


def _written(context: Site) -> tuple[Mapping[str, bool], str]:
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


def unknown_gate(name: str, driver: Reader) -> tuple[str, str]:
    """Message and fix for a gate that a release of the driver does not have."""
    row = driver.features.gates.get(name)
    near = nearest_names(name, (*driver.gates, *_LOGGING), limit=1)
    return (
        f"{driver} has no feature gate {name}"
        + (f", it came with {row.since}" if row else "")
        + ("; no release is named, so the pinned one counts" if row and driver.is_default else ""),
        f"write `{near[0]}`" if near and row is None else "remove it",
    )


def _check(gates: Mapping[str, bool], path: str, report: CheckReport) -> None:
    pairs = [*((*pair, True) for pair in EXCLUDES), *((*pair, False) for pair in NEEDS)]
    for one, other, excluded in pairs:
        if gates.get(one) and bool(gates.get(other)) is excluded:
            both = (one, other)
            if excluded:
                report.say("dra-gates-conflict/excluded", path, gates=both, one=one, other=other)
            else:
                report.say("dra-gates-conflict/needed", path, gates=both, one=one, other=other)
