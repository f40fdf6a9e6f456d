"""Values the GPU Operator's definitions restrict: choices, numbers, durations."""

from collections.abc import Mapping
from typing import Any

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.foreign.go_json import as_mapping, integer, kind_of, shown
from gpufleet.contract.foreign.validation import CheckReport
from gpufleet.documents.durations import is_prometheus_duration

CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "mig.strategy": ("GO-8", ("none", "single", "mixed")),
    "migManager.config.default": ("GO-9", ("all-disabled", "")),
    "sandboxWorkloads.defaultWorkload": ("GO-10", ("container", "vm-passthrough", "vm-vgpu")),
    "sandboxWorkloads.mode": ("GO-10", ("kubevirt", "kata")),
    "driver.kernelModuleType": ("GO-10", ("auto", "open", "proprietary")),
    "driver.nvidiaDriverCRD.driverType": ("3.2", ("gpu", "vgpu", "vgpu-host-manager")),
    "daemonsets.updateStrategy": ("GO-10", ("RollingUpdate", "OnDelete")),
    "ccManager.defaultMode": ("GO-10", ("on", "off", "devtools")),
}
"""Dotted path -> rule and what the definition allows."""

DRIVER_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "driverType": ("3.2", ("gpu", "vgpu", "vgpu-host-manager")),
    "kernelModuleType": ("GO-10", ("auto", "open", "proprietary")),
}
"""The same for the spec of an NVIDIADriver."""

_NUMBERS = (
    "maxParallelUpgrades",
    "waitForCompletion.timeoutSeconds",
    "gpuPodDeletion.timeoutSeconds",
    "podDeletion.timeoutSeconds",
    "drain.timeoutSeconds",
)
_MONITORS = ("dcgmExporter.serviceMonitor", "operator.metrics.serviceMonitor")


def value_at(data: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, None where nothing is written."""
    here: Any = data
    for step in path.split("."):
        found = as_mapping(here)
        if found is None:
            return None
        here = found.get(step)
    return here


def validate_choices(
    data: Mapping[str, Any],
    choices: Mapping[str, tuple[str, tuple[str, ...]]],
    root: str,
    report: CheckReport,
) -> None:
    """Every restricted value. Empty text is left out by the templates, like an absent key."""
    for path, (rule, allowed) in choices.items():
        value = value_at(data, path)
        if value is None or value == "" or value in allowed:
            continue
        place = f"{root}{path}"
        if not isinstance(value, str):
            hint = ""
            if isinstance(value, bool) and "on" in allowed:
                hint = ", as an unquoted on or off is a boolean in YAML"
            report.add(
                "gpu-operator-wrong-type",
                place,
                f"{path} is {kind_of(value)}{hint}; text is needed",
                f'write "{"on" if value is True else allowed[0]}" in quotes',
                value=shown(value),
                allowed=allowed,
            )
            continue
        near = nearest_names(value, [name for name in allowed if name], limit=1)
        fix = f"write `{near[0]}`" if near else f"one of {', '.join(repr(n) for n in allowed)}"
        if path == "migManager.config.default":
            fix = "leave it, and label the nodes `nvidia.com/mig.config` with the config's name"
        report.add(
            "gpu-operator-choice-unknown",
            place,
            f"{path} is {value!r}, allowed are {', '.join(repr(name) for name in allowed)}",
            fix,
            value=value,
            allowed=allowed,
            rule=rule,
        )


def validate_upgrade_policy(policy: Any, root: str, report: CheckReport) -> None:
    """Numbers of an upgrade policy."""
    found = as_mapping(policy)
    if found is None:
        return
    for path in _NUMBERS:
        value = value_at(found, path)
        if value is None:
            continue
        number = integer(value)
        if number is None:
            report.add(
                "gpu-operator-wrong-type",
                f"{root}.{path}",
                f"{path} is {kind_of(value)} ({shown(value)}), a whole number is needed",
                "write a number from 0 on",
                value=shown(value),
            )
        elif number < 0:
            report.add(
                "gpu-operator-number-negative",
                f"{root}.{path}",
                f"{path} is {number}, at least 0 is needed",
                "write 0 for no limit",
                value=number,
                limit=0,
            )


def validate_monitors(data: Mapping[str, Any], root: str, report: CheckReport) -> None:
    """Durations of the ServiceMonitors."""
    for monitor in _MONITORS:
        for key in ("interval", "scrapeTimeout"):
            value = value_at(data, f"{monitor}.{key}")
            if value is None or value == "":
                continue
            if not isinstance(value, str) or not is_prometheus_duration(value):
                report.add(
                    "gpu-operator-duration-invalid",
                    f"{root}{monitor}.{key}",
                    f"{key} is {shown(value)}, a Prometheus duration is needed",
                    "write a number with ms, s, m, h, d, w or y, such as 15s",
                    value=shown(value),
                )
