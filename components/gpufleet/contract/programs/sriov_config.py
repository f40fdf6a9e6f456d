"""Kind `sriov-config`: the `config` of the SR-IOV network device plugin."""

from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import kind_of, shown
from gpufleet.contract.programs.json_document import validate_json
from gpufleet.contract.programs.network_names import is_sriov_resource
from gpufleet.contract.programs.rdma_shared_config import validate_names
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.selector_schema import criteria, validate_selectors, validate_values
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import rule_table

_TYPES = ("accelerator", "netDevice", "auxNetDevice")
_ITEM = (
    "resourceName",
    "resourcePrefix",
    "deviceType",
    "excludeTopology",
    "selectors",
    "additionalInfo",
)

RULES = rule_table(*rules_in("sriov", "unknown_keys", "text_notes"))


def validate(read: GoDocument, context: Site) -> Judgement:  # noqa: ARG001  # one signature for all kinds
    """Validate one config of the SR-IOV network device plugin."""
    report = CheckReport(RULES)
    note_text(read, report)
    validate_json(read, "sriov-not-json", report)
    validate_data(read.data, "", report)
    return report.validation()


def validate_data(data: Any, path: str, report: CheckReport) -> None:
    """Validate the parsed config."""
    document = as_mapping(data)
    if document is None:
        kind, fix = kind_of(data), 'write {"resourceList": [...]}'
        report.say("config-no-object", path, code="sriov-not-json", fix=fix, kind=kind)
        return
    for key in document:
        if key != "resourceList":
            report_key(report, path, key, ("resourceList",), "the SR-IOV network device plugin")
    entries = as_list(document.get("resourceList"))
    if not entries:
        written = shown(document.get("resourceList"))
        report.say("sriov-list-missing", child(path, "resourceList"), value=written)
        return
    for index, entry in enumerate(entries):
        _validate_item(entry, child(child(path, "resourceList"), index), report)


def _validate_item(entry: Any, path: str, report: CheckReport) -> None:
    item = as_mapping(entry)
    if item is None:
        kind, fix = kind_of(entry), 'write {"resourceName": ..., "selectors": ...}'
        report.say("entry-no-object", path, code="sriov-item-invalid", fix=fix, kind=kind)
        return
    for key in item:
        if key not in _ITEM:
            report_key(report, path, key, _ITEM, "the SR-IOV network device plugin")
    validate_names(item, path, is_sriov_resource, "sriov", report)
    if "excludeTopology" in item and not isinstance(item["excludeTopology"], bool):
        report.say(
            "sriov-item-invalid",
            child(path, "excludeTopology"),
            exclude_topology=shown(item["excludeTopology"]),
        )
    kind = item.get("deviceType", "netDevice")
    if not isinstance(kind, str) or kind not in _TYPES:
        report.say(
            "sriov-type-unknown",
            child(path, "deviceType"),
            fix=nearest_fix(str(kind), _TYPES),
            value=shown(kind),
        )
        return
    place = child(path, "selectors")
    selectors = item.get("selectors")
    listed = as_list(selectors)
    if "selectors" not in item or listed == []:
        report.say("sriov-selectors-missing", place, kind=kind)
    elif listed is not None:
        for index, one in enumerate(listed):
            validate_selectors(one, criteria(kind), child(place, index), "sriov", report)
            validate_values(as_mapping(one) or {}, "devices", child(place, index), "sriov", report)
    else:
        validate_selectors(selectors, criteria(kind), place, "sriov", report)
        validate_values(as_mapping(selectors) or {}, "devices", place, "sriov", report)
