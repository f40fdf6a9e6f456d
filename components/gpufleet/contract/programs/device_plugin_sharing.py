"""The sharing blocks of a device-plugin configuration, whose keys are case-sensitive."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child

PREFIX = "nvidia.com/"
LONGEST_NAME = 63
"""Maximum number of bytes of a resource name with its prefix (`api/config/v1/consts.go`)."""

_BLOCK = ("renameByDefault", "failRequestsGreaterThanOne", "resources")
_RESOURCE = ("name", "rename", "devices", "replicas")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_UNSIGNED = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_HEX32 = re.compile(r"[0-9a-fA-F]{32}")


@dataclass(frozen=True, slots=True)
class SharingBlock:
    """One sharing block."""

    rename: bool
    fail_requests_greater_than_one: bool | None
    """None: not written."""
    resources: tuple[tuple[str, int, str], ...]
    """(full name, replicas, path) in the order of the file."""

    @property
    def replicas(self) -> Mapping[str, int]:
        """Replicas by resource; of a repeated resource the largest."""
        found: dict[str, int] = {}
        for name, count, _ in self.resources:
            found[name] = max(count, found.get(name, 0))
        return found


_HOMES = {
    "renameByDefault": "sharing.timeSlicing or sharing.mps",
    "failRequestsGreaterThanOne": "sharing.timeSlicing or sharing.mps",
    "replicas": "an entry of sharing.timeSlicing.resources",
    "timeSlicing": "sharing",
    "mps": "sharing",
    "sharing": "the top of the document",
    "flags": "the top of the document",
    "migStrategy": "flags",
    "failOnInitError": "flags",
    "mpsRoot": "flags",
    "nvidiaDriverRoot": "flags",
    "passDeviceSpecs": "flags.plugin",
    "deviceListStrategy": "flags.plugin",
    "deviceIDStrategy": "flags.plugin",
    "sharedDevicesAllocationPolicy": "flags.plugin",
}
"""Keys that are often written in the wrong section -> the correct section."""


def report_plugin_key(key: str, known: Iterable[str], path: str, report: CheckReport) -> None:
    """Report a key that the plugin ignores at this place."""
    home = _HOMES.get(key)
    if home is None or home == path:
        report_key(report, path, key, known, "the device plugin")
        return
    report.say("device-plugin-key-elsewhere", child(path, key), value=key, home=home)


def parse_block(value: Any, name: str, report: CheckReport) -> SharingBlock | None:
    """A sharing block; None if it is refused."""
    path = child("sharing", name)
    if value is not None and not isinstance(value, dict):
        wrong_type(value, path, "a mapping", report)
        return None
    block = cast("dict[str, Any]", value or {})
    for key in block:
        if key not in _BLOCK:
            report_plugin_key(key, _BLOCK, path, report)
    flags = {key: block.get(key) for key in _BLOCK[:2]}
    for key, flag in flags.items():
        if flag is not None and not isinstance(flag, bool):
            wrong_type(flag, child(path, key), "true or false", report)
    rename = flags["renameByDefault"] is True
    resources = _resources(block, child(path, "resources"), rename, report)
    if not resources:
        return None
    fail = flags["failRequestsGreaterThanOne"]
    return SharingBlock(rename, fail if isinstance(fail, bool) else None, resources)


def _resources(
    block: dict[str, Any], path: str, rename: bool, report: CheckReport
) -> tuple[tuple[str, int, str], ...]:
    value = block.get("resources")
    if value is None or value == []:
        report.say("device-plugin-no-resources", path)
        return ()
    if not isinstance(value, list):
        wrong_type(value, path, "a list", report)
        return ()
    found: list[tuple[str, int, str]] = []
    for index, entry in enumerate(cast("list[Any]", value)):
        place = child(path, index)
        one = _resource(entry, place, rename, report)
        if one is None:
            continue
        if any(one[0] == name for name, _, _ in found):
            report.say("device-plugin-resource-repeated", place, value=one[0])
        found.append((*one, place))
    return tuple(found)


def _resource(entry: Any, path: str, rename: bool, report: CheckReport) -> tuple[str, int] | None:
    if entry is not None and not isinstance(entry, dict):
        wrong_type(entry, path, "a mapping", report)
        return None
    fields = cast("dict[str, Any]", entry or {})
    for key in fields:
        if key not in _RESOURCE:
            report_plugin_key(key, _RESOURCE, path, report)
    name = replicas = None
    if "name" not in fields:
        report.say("device-plugin-resource-name-missing", child(path, "name"))
    else:
        name = resource_name(fields["name"], child(path, "name"), report)
    if "replicas" not in fields:
        report.say("device-plugin-replicas-missing", child(path, "replicas"))
    else:
        replicas = _replicas(fields["replicas"], child(path, "replicas"), report)
    _devices(fields.get("devices", "all"), child(path, "devices"), report)
    if "rename" in fields:
        _rename(fields["rename"], name, rename, child(path, "rename"), report)
    return None if name is None or replicas is None else (name, replicas)


def _replicas(value: Any, path: str, report: CheckReport) -> int | None:
    number = 0 if value is None else integer(value)
    if number is not None and number >= 2:
        return number
    report.say("device-plugin-replicas-invalid", path, value=shown(value), limit=2)
    return None


def resource_name(value: Any, path: str, report: CheckReport) -> str | None:
    """The full resource name; None, with a finding, if the plugin refuses it."""
    if value is not None and not isinstance(value, str):
        wrong_type(value, path, "text", report)
        return None
    written = value or ""
    full = written if written.startswith(PREFIX) else PREFIX + written
    rest = full.partition("/")[2]
    if len(full.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        report.say(
            "device-plugin-name-invalid/length", path, value=written, limit=LONGEST_NAME, full=full
        )
        return None
    if _SUBDOMAIN.fullmatch(rest) is None:
        report.say(
            "device-plugin-name-invalid/form", path, fix=_name_fix(rest), value=written, full=full
        )
        return None
    return full


def _name_fix(rest: str) -> str:
    guess = rest.rpartition("/")[2].lower().replace("+", ".").replace(",", ".").replace("_", "-")
    return f"write `{PREFIX}{guess}`" if _SUBDOMAIN.fullmatch(guess) else "write `nvidia.com/gpu`"


def _devices(value: Any, path: str, report: CheckReport) -> None:
    if value == "all":
        return
    count = None if isinstance(value, str | list) else integer(value)
    listed = isinstance(value, list) and all(_is_device(d) for d in cast("list[Any]", value))
    if listed or (count is not None and count > 0):
        report.say("device-plugin-devices-ignored", path, value=shown(value))
        return
    report.say("device-plugin-devices-invalid", path, value=shown(value))


def _is_device(value: Any) -> bool:
    if value is None:  # a null in the list is decoded as index 0
        return True
    if not isinstance(value, str):
        number = value if isinstance(value, int) and value >= 1 << 63 else integer(value)
        return number is not None and 0 <= number < 1 << 64
    first, colon, second = value.partition(":")
    if _is_unsigned(first) and (not colon or _is_unsigned(second)):
        return True
    if value.startswith("GPU-"):
        return _is_uuid(value.removeprefix("GPU-"))
    if not value.startswith("MIG-"):
        return False
    rest = value.removeprefix("MIG-")
    parts = rest.split("/", 2)
    return _is_uuid(rest) or (
        len(parts) == 3
        and parts[0].startswith("GPU-")
        and _is_uuid(parts[0].removeprefix("GPU-"))
        and all(_is_unsigned(part) for part in parts[1:])
    )


def _is_unsigned(text: str) -> bool:
    return _UNSIGNED.fullmatch(text) is not None and int(text) < 1 << 64


def _is_uuid(text: str) -> bool:
    """The four forms github.com/google/uuid reads."""
    if len(text) == 32:
        return _HEX32.fullmatch(text) is not None
    if len(text) == 45 and text[:9].lower() == "urn:uuid:":
        text = text[9:]
    elif len(text) == 38:
        text = text[1:37]
    return _UUID.fullmatch(text) is not None


def _rename(value: Any, name: str | None, by_default: bool, path: str, report: CheckReport) -> None:
    renamed = resource_name(value, path, report)
    if renamed is None or (by_default and name is not None and renamed == f"{name}.shared"):
        return
    report.add(
        "device-plugin-rename-ignored",
        path,
        f"rename is not supported: {renamed} is ignored"
        + (f", {name}.shared is advertised" if by_default else f", {name} stays"),
        "write `renameByDefault: true` for `<name>.shared`, or remove `rename`",
        value=renamed,
    )


def wrong_type(value: Any, path: str, wanted: str, report: CheckReport) -> None:
    """Report that a value of the document has a type that the plugin cannot read."""
    report.say(
        "device-plugin-wrong-type",
        path,
        value=shown(value),
        place=path,
        kind=kind_of(value),
        wanted=wanted,
    )
