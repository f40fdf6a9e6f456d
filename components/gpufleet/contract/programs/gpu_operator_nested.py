"""Configurations inside the GPU Operator's values: of the device plugin, MIG manager, exporter."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.programs import device_plugin, mig_parted
from gpufleet.contract.programs.custom_resources import Objects, share_nodes
from gpufleet.contract.programs.dra_gates import DRIVER, gates_of, validate_gates
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.gpu_operator_runtime import (
    validate_driver_version,
    validate_environment,
    validate_policy_images,
    validate_runtime_paths,
)
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.report import SchemaCodes, object_problems, report_problems
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_mapping


def validate_plugin_config(
    values: Mapping[str, Any], context: Site, report: CheckReport
) -> dict[str, Any]:
    """devicePlugin.config; the documents by key, as data."""
    config = as_mapping(value_at(values, "devicePlugin.config")) or {}
    path = "devicePlugin.config"
    data = _entries(config, path, report)
    if data is None:
        return {}
    report.apply("plugin config", path, config=config, data=data, keys=list(data))
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
    fields = [line.partition(",")[0].strip() for line in lines if not line.strip().startswith("#")]
    report.apply("counters", fields=fields, values=values)
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


# Custom resources of the GPU Operator: ClusterPolicy, NVIDIADriver, GPUCluster.

KINDS = ("ClusterPolicy", "NVIDIADriver", "GPUCluster")
GROUP = "nvidia.com"
_REQUIRED = SchemaProblemKind.REQUIRED
_PARTS = 9
"""Required parts of the spec of a ClusterPolicy."""
CODES = SchemaCodes(
    wrong_type="gpu-operator-wrong-type",
    choice="gpu-operator-choice-unknown",
    bound="gpu-operator-number-negative",
    required="gpu-operator-policy-incomplete",
    other="gpu-operator-value-invalid",
)


def validate_objects(objects: Objects, context: Site, report: CheckReport) -> None:
    """Validate custom resources, alone and against each other."""
    for path, item in objects:
        spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
        kind = item.get("kind")
        if kind not in KINDS:
            continue
        if kind == "NVIDIADriver":
            _driver(item, spec, place, context, report)
        elif kind == "GPUCluster":
            _cluster(item, path, context, report)
        problems = object_problems(item, GROUP)
        if kind == "ClusterPolicy":
            problems = _cluster_policy(spec, problems, place, report)
        report_problems(problems, CODES, report, path, special_code)
    drivers = [(path, item) for path, item in objects if item.get("kind") == "NVIDIADriver"]
    _driver_pairs(drivers, report)
    policies = [(path, item) for path, item in objects if item.get("kind") == "ClusterPolicy"]
    for path, item in policies[1:]:
        first, other = policies[0]
        report.say(
            "gpu-operator-two-policies",
            child(child(path, "metadata"), "name"),
            first=first,
            name=_name(item),
            other=_name(other),
        )
    for path, item in policies:
        validate_config_maps(objects, as_mapping(item.get("spec")) or {}, path, context, report)
    kinds = [item.get("kind") for _, item in objects]
    if "ClusterPolicy" in kinds and "GPUCluster" in kinds:
        report.say("gpu-operator-two-stacks/objects", "items")


def _cluster_policy(
    spec: dict[str, Any], problems: tuple[SchemaProblem, ...], place: str, report: CheckReport
) -> tuple[SchemaProblem, ...]:
    """Validate rules beyond its schema. Returns the problems without the missing parts of a
    kustomize patch, which are one finding."""
    driver = as_mapping(spec.get("driver")) or {}
    validate_driver_version(driver.get("version"), f"{place}.driver.version", report)
    validate_runtime_paths(spec, place, report)
    validate_environment(spec, place, report)
    validate_defaults(spec, f"{place}.", report)
    absent = [one for one in problems if one.kind is _REQUIRED and len(one.steps) == 2]
    missing = tuple(str(one.steps[1]) for one in absent)
    if len(missing) <= _PARTS / 2:
        validate_policy_images(spec, place, report)
        return problems
    report.say("gpu-operator-patch/policy", place, missing=missing)
    return tuple(one for one in problems if one not in absent)


def validate_defaults(data: Mapping[str, Any], root: str, report: CheckReport) -> None:
    """Defaults of nodes without a label: of MIG only the layout without instances, of the device
    plugin a key."""
    value = value_at(data, "migManager.config.default")
    if isinstance(value, str) and value not in ("", "all-disabled"):
        report.say(
            "gpu-operator-choice-unknown",
            f"{root}migManager.config.default",
            value=value,
            allowed=("all-disabled", ""),
        )
    chosen = value_at(data, "devicePlugin.config.default")
    if isinstance(chosen, str) and "\n" in chosen:
        place, value = f"{root}devicePlugin.config.default", chosen.partition("\n")[0]
        report.say("gpu-operator-choice-unknown/key", place, value=value)


def special_code(problem: SchemaProblem) -> str | None:
    """The separate code for durations."""
    monitors = "serviceMonitor" in problem.steps
    duration = monitors and problem.steps[-1] in ("interval", "scrapeTimeout")
    return "gpu-operator-duration-invalid" if duration else None


def _driver(
    item: dict[str, Any],
    spec: dict[str, Any],
    place: str,
    context: Site,
    report: CheckReport,
) -> None:
    validate_driver_version(spec.get("version"), f"{place}.version", report)
    report.apply("driver", place, driver=spec)
    before = as_mapping(context.previous)
    if before is None or before.get("kind") != "NVIDIADriver" or _name(before) != _name(item):
        return
    old = as_mapping(before.get("spec")) or {}
    for field, default in (("driverType", "gpu"), ("usePrecompiled", False)):
        if old.get(field, default) != spec.get(field, default):
            report.say(
                "gpu-operator-driver-immutable",
                child(place, field),
                before=old.get(field, default),
                value=spec.get(field, default),
                field=field,
            )


def _driver_pairs(drivers: Objects, report: CheckReport) -> None:
    specs = [(path, as_mapping(item.get("spec")) or {}) for path, item in drivers]
    defaults = [path for path, spec in specs if spec.get("default") is True]
    for path in defaults[1:]:
        report.say(
            "gpu-operator-driver-two-defaults",
            child(child(path, "spec"), "default"),
            first=defaults[0],
        )
    others = [(path, spec) for path, spec in specs if spec.get("default") is not True]
    for index, (path, spec) in enumerate(others):
        for first, other in others[:index]:
            a, b = (mapping_at(s, "nodeSelector") for s in (spec, other))
            if share_nodes(a, b):
                report.say(
                    "gpu-operator-driver-overlap",
                    child(child(path, "spec"), "nodeSelector"),
                    first=first,
                    first_written=first or "the first",
                )


def _cluster(item: dict[str, Any], path: str, context: Site, report: CheckReport) -> None:
    gates, driver = "spec.draDriver.featureGates", context.release_of(DRIVER)
    validate_gates(gates_of(value_at(item, gates)), f"{path}.{gates}".lstrip("."), driver, report)
    if _name(item) != "gpu-cluster":
        report.say(
            "gpu-operator-cluster-name", child(child(path, "metadata"), "name"), value=_name(item)
        )


def _name(item: Mapping[str, Any]) -> Any:
    return value_at(item, "metadata.name")
