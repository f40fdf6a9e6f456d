"""Kinds `rdma-shared-config` and `sriov-config`: the `config` of the RDMA shared device plugin and
of the SR-IOV network device plugin."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.catalogue.schemas import schema_file
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.go_json import integer, json_problem, kind_of, shown
from gpufleet.contract.programs.network_names import (
    is_rdma_resource,
    is_sriov_resource,
    is_subdomain,
)
from gpufleet.contract.programs.rule_tables import note_text, rules_in
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
        problem = None if read.text is None else json_problem(read.text)
        if problem is not None:  # YAML, for example
            code, fix = f"{self.prefix}-not-json", "write JSON, with braces and quoted keys"
            report.say("not-json", "", code=code, fix=fix, problem=problem)
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
        _validate_selectors(item["selectors"], _criteria("rdma"), place, "rdma", report)
        _validate_values(as_mapping(item["selectors"]) or {}, "deviceIDs", place, "rdma", report)
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
            _validate_selectors(one, _criteria(kind), child(place, index), "sriov", report)
            _validate_values(as_mapping(one) or {}, "devices", child(place, index), "sriov", report)
    else:
        _validate_selectors(selectors, _criteria(kind), place, "sriov", report)
        _validate_values(as_mapping(selectors) or {}, "devices", place, "sriov", report)


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


# Device selectors of both plugins, as in the webhook's schemas.

_Schema = Mapping[str, str]
"""Criterion -> `texts`, `boolean` or `text`."""

_WORDS = {"array": "texts", "boolean": "boolean", "string": "text"}


@cache
def _criteria(device: str) -> _Schema:
    """The criteria of a type of device: `rdma`, `accelerator`, `netDevice`, `auxNetDevice`."""
    fields = schema_file("webhook-selectors")["selectors"][device]
    return {name: _WORDS[field["type"]] for name, field in fields.items()}


def _validate_selectors(
    value: Any, schema: _Schema, path: str, prefix: str, report: CheckReport
) -> None:
    """One selectors object: at least one criterion, none unknown, lists of non-empty text.

    Findings: `<prefix>-selectors-empty`, `-selector-unknown`, `-selector-invalid`.
    """
    selectors = as_mapping(value)
    if selectors is None:
        code = f"{prefix}-selector-invalid"
        report.say("selectors-no-mapping", path, code=code, kind=kind_of(value))
        return
    if not set(selectors) & set(schema):
        code = f"{prefix}-selectors-empty"
        report.say("selectors-empty", path, code=code, known=tuple(schema))
    for key, criterion in selectors.items():
        place = child(path, key)
        wanted = schema.get(key)
        if wanted is None:
            code, fix = f"{prefix}-selector-unknown", nearest_fix(key, schema)
            report.say("selector-unknown", place, code=code, fix=fix, value=key)
        elif not _fits(criterion, wanted):
            words = {"texts": "a list of text", "boolean": "true or false", "text": "text"}[wanted]
            code, value = f"{prefix}-selector-invalid", shown(criterion)
            fix = 'put ids in quotes: ["15b3"]' if wanted == "texts" else f"write {words}"
            report.say(
                "selector-invalid", place, code=code, fix=fix, value=value, key=key, needed=words
            )


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "texts":
        items = as_list(value)
        return items is not None and all(isinstance(item, str) and item for item in items)
    return isinstance(value, bool if wanted == "boolean" else str)


# Values of device selectors that match no device: ids and link types have a fixed form.
#
# Sources: k8s-rdma-shared-dev-plugin pkg/resources/device_selectors.go, sriov-network-device-plugin
# pkg/resources/deviceSelectors.go (equal text); jaypipes/ghw pkg/pci (four lower-case hex digits);
# vishvananda/netlink link.go (EncapType of the kernel: ether, infiniband).

_ID = re.compile(r"[0-9a-f]{4}")
_LINK_TYPES = ("ether", "infiniband")
_MEANT = {
    "ethernet": "ether",
    "eth": "ether",
    "ib": "infiniband",
    "mellanox": "15b3",
    "nvidia": "15b3",
    "intel": "8086",
}


def _validate_values(
    selectors: Mapping[str, Any], devices: str, path: str, prefix: str, report: CheckReport
) -> None:
    """Criteria whose values match nothing; `devices` is the criterion of device ids.

    Findings: `<prefix>-selector-dead` if no value can match, `-selector-value-dead` for some.
    """
    for key in ("vendors", devices, "linkTypes"):
        values = [v for v in as_list(selectors.get(key)) or [] if isinstance(v, str) and v]
        dead = [v for v in values if not _is_possible(key, v)]
        if not dead:
            continue
        every = len(dead) == len(values)
        form = "ether or infiniband" if key == "linkTypes" else "four lower-case hex digits"
        meant = _meant(key, dead[0])
        report.add(
            f"{prefix}-selector-dead" if every else f"{prefix}-selector-value-dead",
            child(path, key),
            f"{key} is compared with {form}: {', '.join(dead)} matches no device"
            + (", so nothing is advertised" if every else ""),
            f'write "{meant}"' if meant else f"write {form}",
            value=tuple(dead),
        )


def _is_possible(key: str, value: str) -> bool:
    return value in _LINK_TYPES if key == "linkTypes" else _ID.fullmatch(value) is not None


def _meant(key: str, value: str) -> str | None:
    guess = value.lower().removeprefix("0x")
    guess = guess if _is_possible(key, guess) else _MEANT.get(guess, "")
    return guess if guess and _is_possible(key, guess) else None


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
