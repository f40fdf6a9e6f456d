"""A device-plugin configuration, decoded as the plugin does; every reason to refuse it reported."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gpufleet.contract.programs.device_plugin_sharing import (
    SharingBlock,
    parse_block,
    report_plugin_key,
    resource_name,
    wrong_type,
)
from gpufleet.contract.programs.go_json import fold, integer, kind_of, shown, text
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.durations import go_duration
from gpufleet.documents.paths import child

READER = "the device plugin"
POLICY_SINCE = (0, 20, 0)
"""The plugin that knows sharedDevicesAllocationPolicy."""

_TOP = ("version", "flags", "resources", "sharing", "imex")
_FLAGS: dict[str, str] = {
    "migStrategy": "text",
    "failOnInitError": "boolean",
    "mpsRoot": "text",
    "nvidiaDriverRoot": "text",
    "nvidiaDevRoot": "text",
    "gdrcopyEnabled": "boolean",
    "gdsEnabled": "boolean",
    "mofedEnabled": "boolean",
    "useNodeFeatureAPI": "boolean",
    "deviceDiscoveryStrategy": "text",
    "plugin": "mapping",
    "gfd": "mapping",
}
_PLUGIN: dict[str, str] = {
    "passDeviceSpecs": "boolean",
    "deviceListStrategy": "texts",
    "deviceIDStrategy": "text",
    "sharedDevicesAllocationPolicy": "text",
    "cdiAnnotationPrefix": "text",
    "nvidiaCTKPath": "text",
    "containerDriverRoot": "text",
}
_GFD: dict[str, str] = {
    "oneshot": "boolean",
    "noTimestamp": "boolean",
    "sleepInterval": "duration",
    "outputFile": "text",
    "machineTypeFile": "text",
}


@dataclass(frozen=True, slots=True)
class PluginDocument:
    """The settings that the plugin reads from a file."""

    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Flags that are set, including those of `plugin`."""
    time_slicing: SharingBlock | None = None
    mps: SharingBlock | None = None


def parse_config(data: Any, version: tuple[int, ...], report: CheckReport) -> PluginDocument:
    """Decode a configuration for a plugin of this version."""
    if data is None:
        return PluginDocument()
    if not isinstance(data, dict):
        report.say("device-plugin-no-mapping", "", kind=kind_of(data))
        return PluginDocument()
    top = decode(cast("dict[str, Any]", data), _TOP, "", report)
    found = text(top.get("version", ""))
    if top.get("version") is not None and found not in ("", "v1"):
        report.say("device-plugin-version-unknown", "version", value=shown(top["version"]))
    flags = _flags(top.get("flags"), version, report)
    _resources(top.get("resources"), report)
    _imex(top.get("imex"), report)
    sharing = mapping(top.get("sharing"), "sharing", report)
    blocks = decode(sharing, ("timeSlicing", "mps"), "sharing", report)
    slicing = (
        parse_block(blocks["timeSlicing"], "timeSlicing", report)
        if "timeSlicing" in blocks
        else None
    )
    # A null MPS block is a null pointer; a null time-slicing block is decoded, and refused.
    mps = parse_block(blocks["mps"], "mps", report) if blocks.get("mps") is not None else None
    return PluginDocument(flags, slicing, mps)


def mapping(value: Any, path: str, report: CheckReport) -> dict[str, Any]:
    """A copy of the mapping; null is an empty one, anything else is refused."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return dict(cast("dict[str, Any]", value))
    wrong_type(value, path, "a mapping", report)
    return {}


def decode(
    data: dict[str, Any], known: tuple[str, ...], path: str, report: CheckReport
) -> dict[str, Any]:
    """Values by field, keys matched in any case; unknown keys are reported."""
    found, unknown = fold(data, known)
    for key in unknown:
        report_plugin_key(key, known, path, report)
    for key in data:
        if key in known or key in unknown:
            continue
        meant = next(name for name in known if name.lower() == key.lower() or name in found)
        meant = next((name for name in known if name.lower() == key.lower()), meant)
        if meant in data:
            report.say("device-plugin-key-case-repeated", child(path, key), value=key, meant=meant)
        else:
            report.say("device-plugin-key-case", child(path, key), value=key, meant=meant)
    return found


def _flags(value: Any, version: tuple[int, ...], report: CheckReport) -> dict[str, Any]:
    flags = _typed(mapping(value, "flags", report), _FLAGS, "flags", report)
    fields = dict(_PLUGIN)
    if version < POLICY_SINCE:
        del fields["sharedDevicesAllocationPolicy"]
    plugin = mapping(flags.pop("plugin", None), "flags.plugin", report)
    gfd = mapping(flags.pop("gfd", None), "flags.gfd", report)
    for path, group in (("flags.plugin", plugin), ("flags.gfd", gfd)):
        _misplaced(group, flags, path, report)
    _typed(gfd, _GFD, "flags.gfd", report)
    return flags | _typed(plugin, fields, "flags.plugin", report)


def _misplaced(
    group: dict[str, Any], flags: Mapping[str, Any], path: str, report: CheckReport
) -> None:
    """Remove keys that belong one level up.

    While it looks for text fields, the reader walks the embedded struct of `flags` in place of
    `plugin` and `gfd`, and allocates every pointer on its way.
    """
    names = {name.lower(): name for name, kind in _FLAGS.items() if kind != "mapping"}
    for key in [key for key in group if key.lower() in names]:
        name = names[key.lower()]
        if name in flags:
            continue  # the decoder writes the right value over it; what is left is an unknown key
        report.add(
            "device-plugin-key-misplaced",
            child(path, key),
            f"{name} belongs in flags: here it sets the flag to "
            + ("the empty text" if _FLAGS[name] == "text" else "false"),
            f"move it to `flags.{name}`",
            value=shown(group[key]),
        )
        del group[key]


def _typed(
    data: dict[str, Any], fields: Mapping[str, str], path: str, report: CheckReport
) -> dict[str, Any]:
    """Fields with values of the right type; nulls are left out, as they set nothing."""
    found = decode(data, tuple(fields), path, report)
    kept: dict[str, Any] = {}
    for name, value in found.items():
        if value is None:
            continue
        wanted = fields[name]
        if _fits(value, wanted):
            kept[name] = value
        elif wanted != "mapping":
            wrong_type(value, child(path, name), _WORDS[wanted], report)
        else:
            mapping(value, child(path, name), report)
    return kept


_WORDS = {
    "text": "text",
    "boolean": "true or false",
    "texts": "text or a list of text",
    "duration": "a duration such as 60s",
}


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "text":
        return isinstance(value, str)
    if wanted == "boolean":
        return isinstance(value, bool)
    if wanted == "texts":
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        return all(
            isinstance(item, str) or (item is None and isinstance(value, list)) for item in items
        )
    if wanted == "duration":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number or (
            isinstance(value, str) and (value == "infinite" or go_duration(value) is not None)
        )
    return isinstance(value, dict)


def _resources(value: Any, report: CheckReport) -> None:
    groups = decode(mapping(value, "resources", report), ("gpus", "mig"), "resources", report)
    used = False
    for group, entries in groups.items():
        place = child("resources", group)
        if entries is None:
            continue
        if not isinstance(entries, list):
            wrong_type(entries, place, "a list", report)
            continue
        for index, entry in enumerate(cast("list[Any]", entries)):
            used = True
            _resource(entry, child(place, index), report)
    if used:
        report.say("device-plugin-resources-ignored", "resources")


def _resource(entry: Any, path: str, report: CheckReport) -> None:
    if entry is not None and not isinstance(entry, dict):
        wrong_type(entry, path, "a mapping", report)
        return
    fields = cast("dict[str, Any]", entry or {})
    for key in fields:
        if key not in ("pattern", "name"):
            report_key(report, path, key, ("pattern", "name"), READER)
    for key in ("pattern", "name"):
        if key not in fields:
            report.say("device-plugin-resources-incomplete", child(path, key), key=key)
    pattern = fields.get("pattern")
    if pattern is not None and not isinstance(pattern, str):
        wrong_type(pattern, child(path, "pattern"), "text", report)
    if "name" in fields:
        resource_name(fields["name"], child(path, "name"), report)


def _imex(value: Any, report: CheckReport) -> None:
    imex = decode(mapping(value, "imex", report), ("channelIDs", "required"), "imex", report)
    required = imex.get("required")
    if required is not None and not isinstance(required, bool):
        wrong_type(required, "imex.required", "true or false", report)
    channels = imex.get("channelIDs")
    if channels is None:
        return
    if not isinstance(channels, list):
        wrong_type(channels, "imex.channelIDs", "a list", report)
        return
    numbers = [0 if c is None else integer(c) for c in cast("list[Any]", channels)]
    if numbers not in ([], [0]):
        report.say("device-plugin-imex-channels", "imex.channelIDs", value=shown(channels))
