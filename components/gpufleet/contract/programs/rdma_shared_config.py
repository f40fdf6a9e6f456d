"""Kind `rdma-shared-config`: the `config` of the RDMA shared device plugin."""

from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.json_document import validate_json
from gpufleet.contract.programs.network_names import is_rdma_resource, is_subdomain
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.selector_schema import criteria, validate_selectors, validate_values
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table

_TOP = ("periodicUpdateInterval", "configList")
_ITEM = ("resourceName", "resourcePrefix", "rdmaHcaMax", "devices", "selectors")
PREFIX = "rdma"
"""Resource prefix if none is written."""

RULES = rule_table(*rules_in("rdma_shared", "unknown_keys", "text_notes"))


def validate(read: GoDocument, context: Site) -> Judgement:  # noqa: ARG001  # one signature for all kinds
    """Validate one config of the RDMA shared device plugin."""
    report = CheckReport(RULES)
    note_text(read, report)
    validate_json(read, "rdma-not-json", report)
    allocatable = validate_data(read.data, "", report)
    return report.validation(AdvertisedByConfig(allocatable, {}))


def validate_data(data: Any, path: str, report: CheckReport) -> dict[str, int]:
    """Validate the parsed config; returns the resources of a node with matching devices."""
    document = as_mapping(data)
    if document is None:
        kind, fix = kind_of(data), 'write {"configList": [...]}'
        report.say("config-no-object", path, code="rdma-not-json", fix=fix, kind=kind)
        return {}
    for key in document:
        if key not in _TOP:
            report_key(report, path, key, _TOP, "the RDMA shared device plugin")
    entries = as_list(document.get("configList"))
    if not entries:
        written, place = document.get("configList"), child(path, "configList")
        if written is None:
            report.say("rdma-list-missing/absent", place)
        else:
            report.say("rdma-list-missing/type", place, value=shown(written))
        return {}
    allocatable: dict[str, int] = {}
    for index, entry in enumerate(entries):
        _validate_item(entry, child(child(path, "configList"), index), allocatable, report)
    return allocatable


def _validate_item(entry: Any, path: str, allocatable: dict[str, int], report: CheckReport) -> None:
    item = as_mapping(entry)
    if item is None:
        kind, code = kind_of(entry), "rdma-item-invalid"
        fix = 'write {"resourceName": ..., "rdmaHcaMax": ..., "selectors": ...}'
        report.say("entry-no-object", path, code=code, fix=fix, kind=kind)
        return
    for key in item:
        if key not in _ITEM:
            report_key(report, path, key, _ITEM, "the RDMA shared device plugin")
    most = item.get("rdmaHcaMax")
    number = integer(most)
    if number is None:
        place, value = child(path, "rdmaHcaMax"), shown(most)
        if most is None:
            report.say("rdma-item-invalid/absent", place, value=value)
        else:
            report.say("rdma-item-invalid/number", place, value=value)
    elif number < 1:
        report.say("rdma-capacity-useless", child(path, "rdmaHcaMax"), value=number)
    name = validate_names(item, path, is_rdma_resource, "rdma", report)
    if "selectors" not in item and "devices" not in item:
        report.say("rdma-item-invalid/selectors", path)
    if "selectors" in item:
        place = child(path, "selectors")
        validate_selectors(item["selectors"], criteria("rdma"), place, "rdma", report)
        validate_values(as_mapping(item["selectors"]) or {}, "deviceIDs", place, "rdma", report)
    devices = as_list(item.get("devices"))
    if "devices" in item and (
        devices is None or not all(isinstance(d, str) and d for d in devices)
    ):
        report.say("rdma-devices-invalid", child(path, "devices"), devices=shown(item["devices"]))
    if name is None or number is None:
        return
    resource = f"{item.get('resourcePrefix') or PREFIX}/{name}"
    if resource in allocatable:
        report.say("rdma-resource-repeated", child(path, "resourceName"), value=resource)
    allocatable[resource] = number


def validate_names(
    item: dict[str, Any], path: str, is_valid: Any, prefix: str, report: CheckReport
) -> str | None:
    """resourceName and resourcePrefix; returns the name if it is valid."""
    name, domain = item.get("resourceName"), item.get("resourcePrefix")
    if domain and (not isinstance(domain, str) or not is_subdomain(domain)):
        code, place = f"{prefix}-prefix-invalid", child(path, "resourcePrefix")
        report.say("resource-prefix-invalid", place, code=code, value=shown(domain))
    place = child(path, "resourceName")
    if not isinstance(name, str):
        code = f"{prefix}-item-invalid"
        if name is None:
            report.say("resource-name-missing", place, code=code)
        else:
            report.say("resource-name-type", place, code=code, name=shown(name))
        return None
    if not is_valid(name):
        report.say(
            "resource-name-invalid",
            place,
            code=f"{prefix}-name-invalid",
            value=name,
            hyphen=" without hyphens" if prefix == "sriov" else "",
            valid=_valid_name(name, prefix),
        )
        return None
    return name


def _valid_name(name: str, prefix: str) -> str:
    allowed = "_." if prefix == "sriov" else "_.-"
    guess = "".join(c if (c.isascii() and c.isalnum()) or c in allowed else "_" for c in name)
    return guess.strip("_.-") or "hostdev"
