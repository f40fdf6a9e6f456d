"""Configurations inside the GPU Operator's values: of the device plugin, MIG manager, exporter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.programs import device_plugin, mig_parted
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_mapping

_UTIL = "DCGM_FI_DEV_GPU_UTIL"
_ENGINE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def validate_plugin_config(
    values: Mapping[str, Any], context: Site, report: CheckReport
) -> dict[str, Any]:
    """devicePlugin.config; the documents by key, as data."""
    config = as_mapping(value_at(values, "devicePlugin.config")) or {}
    path = "devicePlugin.config"
    data = _entries(config, path, report)
    if data is None:
        return {}
    if config.get("create") is True:
        if not data:
            report.say("gpu-operator-plugin-config-empty/data", f"{path}.data")
        elif not config.get("name"):
            report.say("gpu-operator-plugin-config-empty/name", f"{path}.name")
    default = config.get("default")
    if default and data and default not in list(data):
        report.say(
            "gpu-operator-plugin-default-absent", f"{path}.default", value=default, keys=tuple(data)
        )
    inner = replace(context, reader="gpu-operator", env=None, select=None)
    read: dict[str, Any] = {}
    for key, text in data.items():
        found = _read(text, child(f"{path}.data", key), report)
        if found is not None:
            read[key] = found.data
            validated = device_plugin.validate(found, inner).findings
            _extend(report, validated, child(f"{path}.data", key))
    return read


def validate_mig_config(values: Mapping[str, Any], context: Site, report: CheckReport) -> None:
    """migManager.config."""
    config = as_mapping(value_at(values, "migManager.config")) or {}
    path = "migManager.config"
    data = _entries(config, path, report)
    if data is None:
        return
    if config.get("create") is True and not data:
        code = None if config.get("name") else "gpu-operator-mig-config-nothing"
        report.say("gpu-operator-mig-config-empty", f"{path}.data", code=code)
    if not data:
        return
    if "config.yaml" not in data:
        report.say("gpu-operator-mig-config-key", f"{path}.data", data=tuple(data))
        return
    place = child(f"{path}.data", "config.yaml")
    found = _read(data["config.yaml"], place, report)
    if found is None:
        return
    inner = replace(context, reader="gpu-operator", env=None)
    validated = mig_parted.validate(found, inner).findings
    # The label of every node selects one; the labels are not known here.
    _extend(report, (f for f in validated if f.code != "mig-parted-config-not-selected"), place)


def validate_config_maps(
    objects: Sequence[tuple[str, dict[str, Any]]],
    spec: Mapping[str, Any],
    path: str,
    context: Site,
    report: CheckReport,
) -> None:
    """ConfigMaps of the same text that a ClusterPolicy names: validated like values."""
    maps = {
        str(value_at(item, "metadata.name")): (place, as_mapping(item.get("data")) or {})
        for place, item in objects
        if item.get("kind") == "ConfigMap"
    }
    for section in ("devicePlugin", "migManager", "dcgmExporter"):
        config = as_mapping(value_at(spec, f"{section}.config")) or {}
        place, data = maps.get(str(config.get("name")), ("", None))
        if data is None:
            continue
        inside = CheckReport(report.rules)
        values = {"mig": spec.get("mig"), section: {"config": {**config, "data": data}}}
        within = context.reading(Program(name="gpu-operator", values=values))
        if section == "devicePlugin":
            validate_plugin_config(values, within, inside)
        elif section == "migManager":
            validate_mig_config(values, within, inside)
        elif "dcgm-metrics.csv" not in data:
            keys = tuple(data) or "no key"
            report.say("gpu-operator-counters-key", child(place, "data"), keys=keys)
        for finding in inside.findings:
            below = finding.path.startswith(f"{section}.config.data")
            here = child(place, "data") if below else f"{child(path, 'spec')}.{section}.config"
            rest = finding.path.removeprefix(
                f"{section}.config.data" if below else f"{section}.config"
            )
            report.extend([replace(finding, path=f"{here}{rest}")])


def validate_counters(values: Mapping[str, Any], sliced: bool, report: CheckReport) -> None:
    """Custom DCGM counters, and metrics per pod."""
    exporter = as_mapping(values.get("dcgmExporter")) or {}
    data = value_at(exporter, "config.data")
    lines = data.splitlines() if isinstance(data, str) else []
    fields = {line.partition(",")[0].strip() for line in lines if not line.strip().startswith("#")}
    strategy = value_at(values, "mig.strategy")
    if _UTIL in fields and _ENGINE not in fields and strategy in ("single", "mixed"):
        report.say("gpu-operator-metric-mig", "dcgmExporter.config.data")
    wanted = [key for key in ("enablePodLabels", "enablePodUID") if exporter.get(key) is True]
    if wanted and sliced:
        report.say("gpu-operator-pod-metrics-shared", f"dcgmExporter.{wanted[0]}")


def slices_time(documents: Mapping[str, Any]) -> bool:
    """Whether any device-plugin document has a timeSlicing block."""
    return any(value_at(d, "sharing.timeSlicing") for d in documents.values())


def _entries(config: Mapping[str, Any], path: str, report: CheckReport) -> dict[str, Any] | None:
    """The data of a ConfigMap that the chart creates; None, with a finding, if it is not valid."""
    data = config.get("data")
    found = {} if data is None else as_mapping(data)
    if found is None:
        report.say("gpu-operator-wrong-type/data", f"{path}.data", kind=kind_of(data))
    return found


def _read(text: Any, path: str, report: CheckReport) -> GoDocument | None:
    if not isinstance(text, str):
        report.say("gpu-operator-wrong-type/document", path, text=shown(text))
        return None
    try:
        return read_go(text)
    except UnreadableDocumentError as problem:
        report.say("gpu-operator-wrong-type/text", path, problem=problem)
        return None


def _extend(report: CheckReport, findings: Any, place: str) -> None:
    for finding in findings:
        inner = finding.path.removeprefix("context.chart.values.")
        report.extend([replace(finding, path=f"{place}: {inner}" if inner else place)])
