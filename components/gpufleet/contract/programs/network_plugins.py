"""Kinds `rdma-shared-config` and `sriov-config`: the `config` of the RDMA shared device plugin and
of the SR-IOV network device plugin."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.json_document import validate_json
from gpufleet.contract.programs.network_names import (
    is_rdma_resource,
    is_sriov_resource,
    is_subdomain,
)
from gpufleet.contract.programs.rule_tables import note_text, rules_in
from gpufleet.contract.programs.selector_schema import criteria, validate_selectors, validate_values
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import AdvertisedByConfig, CheckReport, Judgement
from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.rules.rows import RuleTable, rule_table

PREFIX = "rdma"
"""Resource prefix of the RDMA shared device plugin if none is written."""
_TYPES = ("accelerator", "netDevice", "auxNetDevice")


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """The kind of one plugin's config."""

    RULES: RuleTable
    prefix: str
    """First part of the codes of its findings."""
    reader: str
    list_key: str
    """Key of the list of resources."""
    keys: tuple[str, ...]
    item_keys: tuple[str, ...]
    example: str
    """Text of an entry, for a fix."""
    validate_item: Callable[[dict[str, Any], str, dict[str, int], CheckReport], None]
    """Validate an entry, and add its resource to those of a node with matching devices."""

    def validate(self, read: GoDocument, context: Site) -> Judgement:
        """Validate one config of the plugin."""
        del context  # one signature for all kinds
        report = CheckReport(self.RULES)
        note_text(read, report)
        validate_json(read, f"{self.prefix}-not-json", report)
        allocatable = self.validate_data(read.data, "", report)
        return report.validation(AdvertisedByConfig(allocatable, {}) if self is RDMA else None)

    def validate_data(self, data: Any, path: str, report: CheckReport) -> dict[str, int]:
        """Validate the parsed config; returns the resources of a node with matching devices, if
        their number is known."""
        document = as_mapping(data)
        if document is None:
            code, fix = f"{self.prefix}-not-json", f'write {{"{self.list_key}": [...]}}'
            report.say("config-no-object", path, code=code, fix=fix, kind=kind_of(data))
            return {}
        self._report_keys(document, self.keys, path, report)
        written, place = document.get(self.list_key), child(path, self.list_key)
        entries = as_list(written)
        if not entries:
            if self is SRIOV:
                report.say("sriov-list-missing", place, value=shown(written))
            elif written is None:
                report.say("rdma-list-missing/absent", place)
            else:
                report.say("rdma-list-missing/type", place, value=shown(written))
            return {}
        allocatable: dict[str, int] = {}
        for index, entry in enumerate(entries):
            item, where = as_mapping(entry), child(place, index)
            if item is None:
                code, fix = f"{self.prefix}-item-invalid", f"write {self.example}"
                report.say("entry-no-object", where, code=code, fix=fix, kind=kind_of(entry))
            else:
                self._report_keys(item, self.item_keys, where, report)
                self.validate_item(item, where, allocatable, report)
        return allocatable

    def _report_keys(
        self, found: Mapping[str, Any], known: Iterable[str], path: str, report: CheckReport
    ) -> None:
        for key in found:
            if key not in known:
                report_key(report, path, key, known, self.reader)


def _rdma_item(
    item: dict[str, Any], path: str, allocatable: dict[str, int], report: CheckReport
) -> None:
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
    name = _validate_names(item, path, is_rdma_resource, "rdma", report)
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


def _sriov_item(
    item: dict[str, Any], path: str, allocatable: dict[str, int], report: CheckReport
) -> None:
    del allocatable  # the number of functions is not in the config
    _validate_names(item, path, is_sriov_resource, "sriov", report)
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


def _validate_names(
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


RDMA = PluginConfig(
    rule_table(*rules_in("rdma_shared", "unknown_keys", "text_notes")),
    "rdma",
    "the RDMA shared device plugin",
    "configList",
    ("periodicUpdateInterval", "configList"),
    ("resourceName", "resourcePrefix", "rdmaHcaMax", "devices", "selectors"),
    '{"resourceName": ..., "rdmaHcaMax": ..., "selectors": ...}',
    _rdma_item,
)
SRIOV = PluginConfig(
    rule_table(*rules_in("sriov", "unknown_keys", "text_notes")),
    "sriov",
    "the SR-IOV network device plugin",
    "resourceList",
    ("resourceList",),
    (
        *("resourceName", "resourcePrefix", "deviceType", "excludeTopology", "selectors"),
        "additionalInfo",
    ),
    '{"resourceName": ..., "selectors": ...}',
    _sriov_item,
)
