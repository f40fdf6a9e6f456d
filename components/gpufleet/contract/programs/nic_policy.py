"""Specs of NicClusterPolicy and NicNodePolicy, with the checks of definition and webhook."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.network_names import (
    guid,
    is_domain,
    is_image_repository,
    is_ofed_version,
    is_subdomain,
)
from gpufleet.contract.programs.network_plugins import RDMA, SRIOV, PluginConfig
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas import (
    SchemaCodes,
    SchemaProblem,
    SchemaProblemKind,
    object_problems,
    report_problems,
)
from gpufleet.documents.paths import child, value_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import as_list, as_mapping

SECTIONS = (
    "ofedDriver",
    "rdmaSharedDevicePlugin",
    "sriovDevicePlugin",
    "ibKubernetes",
    "nvIpam",
    "nicFeatureDiscovery",
    "docaTelemetryService",
    "secondaryNetwork.cniPlugins",
    "secondaryNetwork.ipoib",
    "secondaryNetwork.multus",
)
"""Sections whose image and repository the webhook validates."""
NODE_SECTIONS = ("ofedDriver", "rdmaSharedDevicePlugin", "sriovDevicePlugin")
"""Sections that may be in a NicNodePolicy instead."""
_PATTERN = SchemaProblemKind.PATTERN
GROUP = "mellanox.com"
CODES = SchemaCodes(
    wrong_type="nic-policy-wrong-type",
    choice="nic-policy-choice-unknown",
    bound="nic-policy-number-negative",
    required="nic-policy-field-missing",
    other="nic-policy-value-invalid",
    definition=(f"{GROUP}/v1alpha1", "NicClusterPolicy"),
)


def special_code(problem: SchemaProblem) -> str | None:
    """The code of values with a separate code."""
    size = problem.steps[-1] == "availableStorageSize"
    return "nic-policy-storage-size" if size and problem.kind is _PATTERN else None


def validate_spec(spec: Mapping[str, Any], version: tuple[int, ...], report: CheckReport) -> None:
    """Validate the spec of a NicClusterPolicy without its object, also against its definition."""
    validate_policy(spec, "", version, report)
    problems = policy_problems({"kind": "NicClusterPolicy", "spec": dict(spec)})
    inside = [replace(one, steps=one.steps[1:]) for one in problems]
    report_problems(inside, CODES, report, special=special_code)


def policy_problems(item: dict[str, Any]) -> tuple[SchemaProblem, ...]:
    """Problems of a resource with its definition, without the missing parts of a patch."""
    problems = object_problems(item, GROUP)
    if not is_patch(as_mapping(item.get("spec")) or {}):
        return problems
    return tuple(one for one in problems if one.kind is not SchemaProblemKind.REQUIRED)


def is_patch(spec: Mapping[str, Any]) -> bool:
    """Whether the spec of a policy is a kustomize patch: sections have values, and none has an
    image or a repository, which a whole object requires."""
    sections = [found for name in SECTIONS if (found := as_mapping(value_at(spec, name)))]
    return bool(sections) and not any("image" in one or "repository" in one for one in sections)


def validate_policy(
    spec: Mapping[str, Any], path: str, version: tuple[int, ...], report: CheckReport
) -> None:
    """Validate the spec of a NicClusterPolicy or NicNodePolicy for an operator of this version."""
    common = as_mapping(spec.get("global")) or {}
    part = is_patch(spec)
    if part:
        report.say("nic-policy-patch", path)
    for name in SECTIONS:
        section = as_mapping(value_at(spec, name))
        if section is not None:
            place = f"{path}.{name}" if path else name
            if not part:
                _validate_image(section, common, place, report)
            _validate_container_resources(section, place, report)
    driver = as_mapping(spec.get("ofedDriver"))
    if driver is not None:
        _validate_ofed(driver, child(path, "ofedDriver"), version, report, part=part)
    _validate_guids(as_mapping(spec.get("ibKubernetes")), child(path, "ibKubernetes"), report)
    _validate_telemetry(spec, path, report)
    for name, plugin in (("rdmaSharedDevicePlugin", RDMA), ("sriovDevicePlugin", SRIOV)):
        config = value_at(spec, f"{name}.config")
        if config is not None:
            _validate_config(config, child(child(path, name), "config"), plugin, report)


def _validate_image(
    section: Mapping[str, Any], common: Mapping[str, Any], path: str, report: CheckReport
) -> None:
    if not section.get("image"):
        report.say("nic-policy-image-missing", child(path, "image"))
    repository = section.get("repository") or common.get("repository")
    if not repository:
        report.say("nic-policy-field-missing/repository", child(path, "repository"))
    elif not isinstance(repository, str) or not is_image_repository(repository):
        report.say("nic-policy-repository", child(path, "repository"), value=shown(repository))


def _validate_container_resources(
    section: Mapping[str, Any], path: str, report: CheckReport
) -> None:
    for index, entry in enumerate(as_list(section.get("containerResources")) or []):
        _validate_resources(entry, child(child(path, "containerResources"), index), report)


def _validate_resources(entry: Any, path: str, report: CheckReport) -> None:
    item = as_mapping(entry)
    if item is None or not item.get("name"):
        report.say("nic-policy-resources/name", child(path, "name"))
        return
    amounts: dict[str, dict[str, Any]] = {}
    for group in ("requests", "limits"):
        found = as_mapping(item.get(group)) or {}
        amounts[group] = {}
        for name, value in found.items():
            place = child(child(path, group), name)
            amount = None if isinstance(value, bool) else quantity(str(value))
            amounts[group][name] = amount
            problem = None
            if name not in ("cpu", "memory"):
                problem = f"{name} is neither cpu nor memory"
            elif amount is None:
                problem = f"{shown(value)} is not a quantity"
            elif amount == 0:
                problem = f"{group} of {name} is zero"
            if problem is not None:
                report.add("nic-policy-resources", place, problem, "write an amount such as 100m")
    for name, limit in amounts["limits"].items():
        request = amounts["requests"].get(name)
        if limit is not None and request is not None and request > limit:
            report.say(
                "nic-policy-resources/limit", child(child(path, "requests"), name), name=name
            )


def _validate_ofed(
    driver: Mapping[str, Any],
    path: str,
    version: tuple[int, ...],
    report: CheckReport,
    *,
    part: bool,
) -> None:
    wanted = driver.get("version")
    if wanted is None:
        if not part:
            report.say("nic-policy-field-missing/version", child(path, "version"))
    elif not isinstance(wanted, str) or not is_ofed_version(wanted, version):
        report.say("nic-policy-ofed-version", child(path, "version"), value=shown(wanted))
    policy = as_mapping(driver.get("upgradePolicy")) or {}
    if policy.get("safeLoad") is True and policy.get("autoUpgrade") is not True:
        report.say("nic-policy-safe-load", child(child(path, "upgradePolicy"), "safeLoad"))


def _validate_guids(section: Mapping[str, Any] | None, path: str, report: CheckReport) -> None:
    if section is None:
        return
    ends = ("pKeyGUIDPoolRangeStart", "pKeyGUIDPoolRangeEnd")
    numbers: list[int] = []
    for key in ends:
        value = section.get(key)
        number = guid(value) if isinstance(value, str) else None
        if number is None:
            report.say("nic-policy-guid/form", child(path, key), value=shown(value), key=key)
        else:
            numbers.append(number)
    if len(numbers) == 2 and numbers[1] <= numbers[0]:
        report.say("nic-policy-guid/range", child(path, ends[1]))


def _validate_telemetry(spec: Mapping[str, Any], path: str, report: CheckReport) -> None:
    config = as_mapping(value_at(spec, "docaTelemetryService.config"))
    if config is None:
        return
    name = config.get("fromConfigMap")
    if not isinstance(name, str) or not is_subdomain(name):
        place = "docaTelemetryService.config.fromConfigMap"
        report.say(
            "nic-policy-telemetry-config", f"{path}.{place}" if path else place, value=shown(name)
        )


def _validate_config(config: Any, path: str, plugin: PluginConfig, report: CheckReport) -> None:
    """The JSON text of one of the two device plugins."""
    if not isinstance(config, str):
        report.say("nic-policy-wrong-type", path, kind=kind_of(config))
        return
    try:
        data = json.loads(config)
    except (ValueError, RecursionError) as problem:
        code = f"{plugin.prefix}-not-json"
        report.say("not-json", path, code=code, fix="write JSON", problem=problem)
        return
    plugin.validate_data(data, path, report)
    name = plugin.list_key
    for index, entry in enumerate(as_list((as_mapping(data) or {}).get(name)) or []):
        prefix = (as_mapping(entry) or {}).get("resourcePrefix")
        if isinstance(prefix, str) and is_subdomain(prefix) and not is_domain(prefix):
            report.say(
                "nic-policy-prefix",
                child(child(child(path, name), index), "resourcePrefix"),
                value=prefix,
            )
