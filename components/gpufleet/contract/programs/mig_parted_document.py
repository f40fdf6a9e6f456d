"""A mig-parted document, parsed like NVIDIA's parser does: `mig_parted_config.yaml`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.report import report_problems, schema_codes
from gpufleet.contract.schemas.validator import part_problems
from gpufleet.documents.paths import child, entries_at, mapping_at
from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.findings import has_errors

_PROFILE = re.compile(r"(?:[+-]?[0-9]+c\.)?[0-9]+g\.[+-]?[0-9]+gb")
_ATTRIBUTE = re.compile(r"[A-Za-z](?:[A-Za-z0-9.]*[A-Za-z0-9])?")


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


@cache
def _schema() -> dict[str, Any]:
    return read_strict(Path(__file__).with_name("mig_parted_config.yaml").read_bytes()).data


def parse_document(data: Any, report: CheckReport) -> Configs:
    """The configs of a document; none if the parser refuses it."""
    if data is None:  # a lone null is decoded like an empty document
        return {}
    before = len(report.findings)
    problems = part_problems("mig-parted", _schema(), data, nulls=True)
    report_problems(problems, schema_codes("mig-parted"), report)
    if has_errors(report.findings[before:]):
        return {}
    configs = {
        name: tuple(
            _entry(entry, child("mig-configs", name) + place, report)
            for place, entry in entries_at({"": entries}, "")
        )
        for name, entries in mapping_at(data, "mig-configs").items()
    }
    return {} if has_errors(report.findings[before:]) else configs


def _entry(entry: Mapping[str, Any], path: str, report: CheckReport) -> MigConfigEntry:
    enabled, filters = entry["mig-enabled"], entry.get("device-filter")
    written, place = as_mapping(entry.get("mig-devices")), child(path, "mig-devices")
    if enabled and written is None:
        report.say("mig-parted-instances-missing", place)
    if not enabled and written:
        report.say("mig-parted-instances-without-mig", place)
    counts = {profile: int(count or 0) for profile, count in (written or {}).items()}
    for profile in counts:
        if not profile_is_valid(profile):
            at, fix = child(place, profile), _spelling_fix(profile)
            report.say("mig-parted-profile-malformed", at, fix=fix, value=profile)
    if counts:
        _check_zeros(counts, place, report)
    listed = as_list(filters) or ([filters] if filters else [])
    indices = as_list(entry["devices"])  # else `all`
    return MigConfigEntry(
        path,
        tuple(str(one or "") for one in listed),
        None if indices is None else tuple(int(one or 0) for one in indices),
        bool(enabled),
        counts,
    )


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
