"""JSON Schema of the settings that a project may give in `--policy-pack-config`."""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from gpufleet.findings import Level
from gpufleet.rules.rule import Profile
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, by_id
from gpufleet_policies.rules.settings import AUTO, THRESHOLDS, RuleSettings

_TEXT = Path(__file__).with_name("thresholds.jsonl").read_text(encoding="utf-8")
_THRESHOLDS: Mapping[str, Mapping[str, Any]] = {
    row["threshold"]: row for row in map(json.loads, _TEXT.splitlines())
}
"""Threshold -> what it means, and the rules that use it."""


def thresholds_of(rule: str) -> tuple[str, ...]:
    """Thresholds that a rule uses."""
    return tuple(name for name, row in _THRESHOLDS.items() if rule in row["rules"])


def threshold_schema(name: str, settings: RuleSettings | None = None) -> dict[str, Any]:
    """The schema of one threshold; with settings its default is the value in force there."""
    found: dict[str, Any] = {
        "type": "number",
        "minimum": 0,
        "description": _THRESHOLDS[name]["means"],
    }
    value = None if settings is None else threshold(settings, name)
    return found if value is None else {**found, "default": value}


def threshold(settings: RuleSettings, name: str) -> int | float | None:
    """The value of a threshold in force, as JSON has it."""
    value: Decimal | int | None = getattr(settings.thresholds, THRESHOLDS[name])
    return float(value) if isinstance(value, Decimal) else value


def settings_schema() -> dict[str, Any]:
    """One property per setting; the engine refuses wrong properties before any check.

    Properties have no defaults here: the engine would send them as if a person had written them,
    over those of the settings file.
    """
    found = json.loads(Path(__file__).with_name("settings_schema.json").read_text(encoding="utf-8"))
    levels = {"type": "string", "enum": [level.value for level in Level]}
    found["profile"]["enum"] = [AUTO, *(profile.value for profile in Profile)]
    found["rules"]["properties"] = dict.fromkeys((*by_id(), EXCEPTION_INVALID), levels)
    found["exceptions"]["items"]["properties"]["rule"]["enum"] = list(by_id())
    found["thresholds"]["properties"] = {name: threshold_schema(name) for name in THRESHOLDS}
    return found
