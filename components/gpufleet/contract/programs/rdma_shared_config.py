"""Kind `rdma-shared-config`: the `config` of the RDMA shared device plugin."""

from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.json_document import validate_json
from gpufleet.contract.programs.network_names import is_rdma_resource, is_subdomain
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.selector_schema import criteria, validate_selectors
from gpufleet.contract.programs.selector_values import validate_values
from gpufleet.contract.programs.text_notes import note_text
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table

_TOP = ("periodicUpdateInterval", "configList")
_ITEM = ("resourceName", "resourcePrefix", "rdmaHcaMax", "devices", "selectors")
PREFIX = "rdma"
"""Resource prefix where none is written."""

RULES = rule_table(*rules_in("rdma_shared", "unknown_keys", "text_notes"))


def validate(read: GoDocument, context: Site) -> Judgement:  # noqa: ARG001  # one signature for all kinds
    """Validate one config of the RDMA shared device plugin."""
    report = CheckReport(RULES)
    note_text(read, report)
    validate_json(read, "rdma-not-json", report)
    allocatable = validate_data(read.data, "", report)
    return report.validation(AdvertisedByConfig(allocatable, {}))


def validate_data(data: Any, path: str, report: CheckReport) -> dict[str, int]:
    """Validate the parsed config; resources a node with matching devices offers."""
    document = as_mapping(data)
    if document is None:
        text = f"the config is {kind_of(data)}, an object is needed"
        report.add("rdma-not-json", path, text, 'write {"configList": [...]}')
        return {}
    for key in document:
        if key not in _TOP:
            report_key(report, path, key, _TOP, "the RDMA shared device plugin")
    entries = as_list(document.get("configList"))
    if not entries:
        report.add(
            "rdma-list-missing",
            child(path, "configList"),
            "configList is missing"
            if document.get("configList") is None
            else f"configList is {shown(document['configList'])}, a list with an entry is needed",
            'write {"configList": [{"resourceName": "rdma_shared_device_a", "rdmaHcaMax": 63, '
            '"selectors": {"vendors": ["15b3"]}}]}',
        )
        return {}
    allocatable: dict[str, int] = {}
    for index, entry in enumerate(entries):
        _validate_item(entry, child(child(path, "configList"), index), allocatable, report)
    return allocatable


def _validate_item(entry: Any, path: str, allocatable: dict[str, int], report: CheckReport) -> None:
    item = as_mapping(entry)
    if item is None:
        text = f"the entry is {kind_of(entry)}, not an object"
        fix = 'write {"resourceName": ..., "rdmaHcaMax": ..., "selectors": ...}'
        report.add("rdma-item-invalid", path, text, fix)
        return
    for key in item:
        if key not in _ITEM:
            report_key(report, path, key, _ITEM, "the RDMA shared device plugin")
    most = item.get("rdmaHcaMax")
    number = integer(most)
    if number is None:
        report.add(
            "rdma-item-invalid",
            child(path, "rdmaHcaMax"),
            "rdmaHcaMax is missing"
            if most is None
            else f"rdmaHcaMax is {shown(most)}, a whole number is needed",
            "write how many pods may share the device, such as 63",
            value=shown(most),
        )
    elif number < 1:
        report.say("rdma-capacity-useless", child(path, "rdmaHcaMax"), value=number)
    name = validate_names(item, path, is_rdma_resource, "rdma", report)
    if "selectors" not in item and "devices" not in item:
        report.say("rdma-item-invalid", path)
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
    """resourceName and resourcePrefix; the name where it is valid."""
    name, domain = item.get("resourceName"), item.get("resourcePrefix")
    if domain and (not isinstance(domain, str) or not is_subdomain(domain)):
        report.add(
            f"{prefix}-prefix-invalid",
            child(path, "resourcePrefix"),
            f"resourcePrefix is {shown(domain)}, a DNS-1123 subdomain is needed",
            "write `nvidia.com`, or remove it",
            value=shown(domain),
        )
    if not isinstance(name, str):
        report.add(
            f"{prefix}-item-invalid",
            child(path, "resourceName"),
            "resourceName is missing"
            if name is None
            else f"resourceName is {shown(name)}, text is needed",
            "write a name such as `hostdev`",
        )
        return None
    if not is_valid(name):
        hyphen = " without hyphens" if prefix == "sriov" else ""
        report.add(
            f"{prefix}-name-invalid",
            child(path, "resourceName"),
            f"resourceName {name!r} is not valid{hyphen}",
            f"write `{_valid_name(name, prefix)}`",
            value=name,
        )
        return None
    return name


def _valid_name(name: str, prefix: str) -> str:
    allowed = "_." if prefix == "sriov" else "_.-"
    guess = "".join(c if (c.isascii() and c.isalnum()) or c in allowed else "_" for c in name)
    return guess.strip("_.-") or "hostdev"
