"""A device-plugin configuration, decoded as the plugin does: `device_plugin_config.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.contract.programs.go_json import fold, shown
from gpufleet.contract.programs.unknown_keys import report_key
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.report import report_problem, schema_codes
from gpufleet.contract.schemas.validator import part_problems
from gpufleet.documents.paths import at_steps, child, entries_at, mapping_at, value_at
from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import as_mapping

PREFIX = "nvidia.com/"
POLICY_SINCE = (0, 20, 0)
"""The plugin that knows sharedDevicesAllocationPolicy."""
_POLICY = ("flags", "plugin", "sharedDevicesAllocationPolicy")
_CODES = schema_codes("the device plugin")


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


@dataclass(frozen=True, slots=True)
class PluginDocument:
    """The settings that the plugin reads from a file."""

    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Flags that are set, including those of `plugin`."""
    time_slicing: SharingBlock | None = None
    mps: SharingBlock | None = None


@cache
def _schema() -> dict[str, Any]:
    return read_strict(Path(__file__).with_name("device_plugin_config.yaml").read_bytes()).data


def parse_config(data: Any, version: tuple[int, ...], report: CheckReport) -> PluginDocument | None:
    """Decode a configuration for a plugin of this version; None if it refuses it."""
    if data is None:
        return PluginDocument()
    whole = _decoded(data, _schema(), "", report)
    flags = mapping_at(whole, "flags")
    for group in ("plugin", "gfd"):
        _remove_misplaced(flags, group, report)
    problems = part_problems("device-plugin", _schema(), whole, nulls=True)
    for problem in problems:
        _report(problem, report)
    if any(one.kind is not SchemaProblemKind.UNKNOWN for one in problems):
        return None
    plugin = mapping_at(flags, "plugin")
    policy = _POLICY[-1]
    if policy in plugin and version < POLICY_SINCE:
        known = [key for key in _known(*_POLICY[:-1]) if key != policy]
        report_key(report, "flags.plugin", policy, known, _CODES.reader)
        del plugin[policy]
    if any(value_at(whole, f"resources.{group}") for group in ("gpus", "mig")):
        report.say("device-plugin-resources-ignored", "resources")
    blocks = [_block(whole, name, report) for name in ("timeSlicing", "mps")]
    own = {key: flags.get(key) for key in _known("flags") if key not in ("plugin", "gfd")}
    own |= {key: plugin.get(key) for key in _known(*_POLICY[:-1])}
    given = {key: one for key, one in own.items() if one is not None}
    return PluginDocument(given, *blocks)


def _known(*path: str) -> tuple[str, ...]:
    steps = [step for name in path for step in ("properties", name)]
    return tuple(at_steps(_schema(), steps)["properties"])


def _decoded(value: Any, schema: Mapping[str, Any], path: str, report: CheckReport) -> Any:
    """A copy with keys by field, which are matched in any case where the schema says so."""
    data = as_mapping(value)
    if data is None or "x-any-case" not in schema:
        return value
    fields = schema["properties"]
    found, unknown = fold(data, fields)
    for key in data:
        if key in fields or key in unknown:
            continue
        meant = next(name for name in fields if name.lower() == key.lower() or name in found)
        meant = next((name for name in fields if name.lower() == key.lower()), meant)
        if meant in data:
            report.say("device-plugin-key-case-repeated", child(path, key), value=key, meant=meant)
        else:
            report.say("device-plugin-key-case", child(path, key), value=key, meant=meant)
    inside = {
        name: _decoded(one, fields[name], child(path, name), report) for name, one in found.items()
    }
    return inside | {key: data[key] for key in unknown}


def _remove_misplaced(flags: dict[str, Any], group: str, report: CheckReport) -> None:
    """Remove keys of `plugin` and `gfd` that belong one level up.

    While it looks for text fields, the reader walks the embedded struct of `flags` in place of
    `plugin` and `gfd`, and allocates every pointer on its way.
    """
    inside, schema = as_mapping(flags.get(group)) or {}, _schema()["properties"]["flags"]
    fields = {n.lower(): n for n, one in schema["properties"].items() if "properties" not in one}
    for key in [key for key in inside if key.lower() in fields]:
        name = fields[key.lower()]
        if name in flags:
            continue  # the decoder writes the right value over it; what is left is an unknown key
        text = schema["properties"][name]["$ref"].endswith("text")
        report.add(
            "device-plugin-key-misplaced",
            child(f"flags.{group}", key),
            f"{name} belongs in flags: here it sets the flag to "
            + ("the empty text" if text else "false"),
            f"move it to `flags.{name}`",
            value=shown(inside[key]),
        )
        del inside[key]


def _report(problem: SchemaProblem, report: CheckReport) -> None:
    key, above = str(problem.steps[-1]) if problem.steps else "", problem.path.rpartition(".")[0]
    home = _schema()["x-homes"].get(key) if problem.kind is SchemaProblemKind.UNKNOWN else None
    if home is None or home == above:
        report_problem(problem, _CODES, report, code=problem.code or None)
    else:
        report.say("device-plugin-key-elsewhere", problem.path, value=key, home=home)


def _block(whole: Any, name: str, report: CheckReport) -> SharingBlock | None:
    """A sharing block, with notes about what is accepted and then ignored."""
    block = as_mapping(value_at(whole, f"sharing.{name}"))
    if block is None:
        return None
    rename = block.get("renameByDefault") is True
    found: list[tuple[str, int, str]] = []
    for place, entry in entries_at(whole, f"sharing.{name}.resources"):
        full = PREFIX + str(entry["name"]).removeprefix(PREFIX)
        if any(full == other for other, _, _ in found):
            report.say("device-plugin-resource-repeated", place, value=full)
        if entry.get("devices", "all") != "all":
            at = child(place, "devices")
            report.say("device-plugin-devices-ignored", at, value=shown(entry["devices"]))
        _note_rename(entry.get("rename"), full, rename, child(place, "rename"), report)
        found.append((full, int(entry["replicas"]), place))
    return SharingBlock(rename, block.get("failRequestsGreaterThanOne"), tuple(found))


def _note_rename(
    value: str | None, name: str, by_default: bool, path: str, report: CheckReport
) -> None:
    renamed = None if value is None else PREFIX + value.removeprefix(PREFIX)
    if renamed is None or (by_default and renamed == f"{name}.shared"):
        return
    report.add(
        "device-plugin-rename-ignored",
        path,
        f"rename is not supported: {renamed} is ignored"
        + (f", {name}.shared is advertised" if by_default else f", {name} stays"),
        "write `renameByDefault: true` for `<name>.shared`, or remove `rename`",
        value=renamed,
    )
