"""A mig-parted document, parsed like NVIDIA's parser does; every reason for refusal is reported."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.contract.programs.go_json import integer, kind_of, shown
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.findings import has_errors

_PROFILE = re.compile(r"(?:[+-]?[0-9]+c\.)?[0-9]+g\.[+-]?[0-9]+gb")
_ATTRIBUTE = re.compile(r"[A-Za-z](?:[A-Za-z0-9.]*[A-Za-z0-9])?")
_TOP = ("version", "mig-configs")
_ENTRY = ("device-filter", "devices", "mig-enabled", "mig-devices")


@dataclass(frozen=True, slots=True)
class MigConfigEntry:
    """One entry of a config."""

    path: str
    filters: tuple[str, ...]
    """Empty: every board."""
    indices: tuple[int, ...] | None
    """None: all GPUs."""
    mig_enabled: bool
    mig_devices: Mapping[str, int]


Configs = Mapping[str, tuple[MigConfigEntry, ...]]


def parse_document(data: Any, empty: bool, report: CheckReport) -> Configs:
    """The configs of a document; entries that the parser refuses are reported and left out."""
    if data is None:
        if not empty:
            pass  # a lone null is decoded like an empty document
        return {}
    if not isinstance(data, dict):
        report.say("mig-parted-no-mapping", "", kind=kind_of(data))
        return {}
    document = cast("dict[str, Any]", data)
    _check_version(document, report)
    _check_keys(document, _TOP, "", report)
    if "mig-configs" not in document:
        return {}
    return _configs(document["mig-configs"], report)


def _check_version(document: dict[str, Any], report: CheckReport) -> None:
    version = document.get("version")
    if document and "version" not in document:
        report.say("mig-parted-version-missing", "version")
    elif version is not None and not isinstance(version, str):
        report.say(
            "mig-parted-wrong-type/version", "version", value=shown(version), kind=kind_of(version)
        )
    elif version != "v1":
        report.say(
            "mig-parted-version-unknown", "version", value=version, version=shown(version or "")
        )


def _check_keys(
    mapping: Mapping[str, Any], known: tuple[str, ...], path: str, report: CheckReport
) -> None:
    for key in mapping:
        if key in known:
            continue
        report.say(
            "mig-parted-key-unknown",
            child(path, key),
            fix=nearest_fix(key, known, f"remove it; known here: {', '.join(known)}"),
            value=key,
        )


def _configs(value: Any, report: CheckReport) -> Configs:
    if value is None or (isinstance(value, dict) and not value):
        report.say("mig-parted-empty/document", "mig-configs")
        return {}
    if not isinstance(value, dict):
        report.say("mig-parted-wrong-type/configs", "mig-configs", kind=kind_of(value))
        return {}
    configs = cast("dict[str, Any]", value)
    return {
        name: _entries(entries, child("mig-configs", name), report)
        for name, entries in configs.items()
    }


def _entries(value: Any, path: str, report: CheckReport) -> tuple[MigConfigEntry, ...]:
    if value is None or value == []:
        report.say("mig-parted-empty/config", path)
        return ()
    if not isinstance(value, list):
        report.say("mig-parted-wrong-type/config", path, kind=kind_of(value))
        return ()
    found = [
        _entry(entry, child(path, i), report) for i, entry in enumerate(cast("list[Any]", value))
    ]
    return tuple(entry for entry in found if entry is not None)


def _entry(value: Any, path: str, report: CheckReport) -> MigConfigEntry | None:
    if value is not None and not isinstance(value, dict):
        report.say("mig-parted-wrong-type/entry", path, kind=kind_of(value))
        return None
    entry = cast("dict[str, Any]", value or {})
    before = len(report.findings)
    for key in ("devices", "mig-enabled"):
        if key not in entry:
            report.say(
                "mig-parted-field-missing",
                child(path, key),
                fix="write `devices: all`" if key == "devices" else "write `mig-enabled: true`",
                key=key,
            )
    _check_keys(entry, _ENTRY, path, report)
    enabled = _enabled(entry, path, report)
    filters = _filters(entry.get("device-filter"), child(path, "device-filter"), report)
    indices = (
        _indices(entry["devices"], child(path, "devices"), report) if "devices" in entry else ()
    )
    devices = _mig_devices(entry.get("mig-devices"), child(path, "mig-devices"), report)
    if enabled and entry.get("mig-devices") is None:
        report.say("mig-parted-instances-missing", child(path, "mig-devices"))
    if enabled is False and entry.get("mig-devices"):
        report.say("mig-parted-instances-without-mig", child(path, "mig-devices"))
    if has_errors(report.findings[before:]):
        return None
    return MigConfigEntry(path, filters, indices, bool(enabled), devices)


def _enabled(entry: Mapping[str, Any], path: str, report: CheckReport) -> bool | None:
    value = entry.get("mig-enabled")
    if value is None:  # a null is decoded as false
        return False if "mig-enabled" in entry else None
    if isinstance(value, bool):
        return value
    report.say(
        "mig-parted-enabled-invalid",
        child(path, "mig-enabled"),
        value=shown(value),
        kind=kind_of(value),
    )
    return None


def _filters(value: Any, path: str, report: CheckReport) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if all(item is None or isinstance(item, str) for item in items):
        return tuple("" if item is None else cast("str", item) for item in items)
    report.say("mig-parted-wrong-type/filter", path, value=shown(value))
    return ()


def _indices(value: Any, path: str, report: CheckReport) -> tuple[int, ...] | None:
    if value == "all":
        return None
    if isinstance(value, list):
        items = cast("list[Any]", value)
        numbers = [0 if item is None else integer(item) for item in items]
        if all(number is not None for number in numbers):
            return tuple(number for number in numbers if number is not None)
    report.say(
        "mig-parted-devices-invalid",
        path,
        value=shown(value),
        shown_value=shown("" if value is None else value),
    )
    return ()


def _mig_devices(value: Any, path: str, report: CheckReport) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        report.say("mig-parted-wrong-type/devices", path, kind=kind_of(value))
        return {}
    counts: dict[str, int] = {}
    whole = True
    for profile, count in cast("dict[str, Any]", value).items():
        place = child(path, profile)
        if not profile_is_valid(profile):
            report.say(
                "mig-parted-profile-malformed", place, fix=_spelling_fix(profile), value=profile
            )
        number = 0 if count is None else integer(count)
        if number is None:
            whole = False
            report.say(
                "mig-parted-count-invalid",
                place,
                fix="write the number without quotes" if isinstance(count, str) else None,
                value=shown(count),
                profile=profile,
            )
        elif number < 0:
            report.say("mig-parted-count-negative", place, value=number, profile=profile)
        else:
            counts[profile] = number
    if whole and counts and len(counts) == len(cast("dict[str, Any]", value)):
        _check_zeros(counts, path, report)
    return counts


def _check_zeros(counts: dict[str, int], path: str, report: CheckReport) -> None:
    if not any(counts.values()):
        report.say("mig-parted-counts-zero", path)
        return
    for profile, count in counts.items():
        if count == 0:
            report.say("mig-parted-count-zero", child(path, profile), profile=profile)


def profile_is_valid(profile: str) -> bool:
    """Whether NVIDIA's parser accepts the spelling of a profile."""
    plus, minus = "+" in profile, "-" in profile
    if plus and minus:
        return False
    head, sign, tail = profile.partition("+" if plus else "-")
    if _PROFILE.fullmatch(head) is None:
        return False
    names = tail.split(",") if sign else []
    return len(set(names)) == len(names) and all(_ATTRIBUTE.fullmatch(name) for name in names)


def _spelling_fix(profile: str) -> str | None:
    """The probable spelling: lower case, `+me` for `.me`."""
    guess = profile.strip().lower()
    guess = re.sub(r"^((?:\d+c\.)?\d+g\.\d+gb)\.", r"\1+", guess)
    guess = re.sub(r"^((?:\d+c\.)?\d+g\.\d+)$", r"\1gb", guess)
    guess = re.sub(r"^(?:mig-|nvidia\.com/mig-)", "", guess)
    if guess != profile and profile_is_valid(guess):
        return f"write `{guess}`"
    return "write a profile such as `1g.10gb`, `1g.10gb+me` or `1c.3g.40gb`"
