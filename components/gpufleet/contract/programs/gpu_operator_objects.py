"""Custom resources of the GPU Operator: ClusterPolicy, NVIDIADriver, GPUCluster."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.custom_resources import Objects, share_nodes
from gpufleet.contract.programs.dra_gates import DRIVER, gates_of, validate_gates
from gpufleet.contract.programs.gpu_operator_nested import validate_config_maps
from gpufleet.contract.programs.gpu_operator_runtime import (
    validate_driver_version,
    validate_environment,
    validate_policy_images,
    validate_runtime_paths,
)
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas import (
    SchemaCodes,
    SchemaProblem,
    SchemaProblemKind,
    object_problems,
    report_problems,
)
from gpufleet.documents.paths import child, mapping_at, value_at
from gpufleet.documents.shapes import as_mapping

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
