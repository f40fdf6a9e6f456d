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
    known = (*by_id(), EXCEPTION_INVALID)
    levels = {"type": "string", "enum": [level.value for level in Level]}
    return {
        "profile": {
            "type": "string",
            "enum": [AUTO, *(profile.value for profile in Profile)],
            "description": "Levels to start from. Default `auto`: prod in production, else dev.",
        },
        "environment": {
            "type": "string",
            "description": "Environment of objects that do not declare theirs. Default: from the "
            "name of the stack, such as `prod` or `acme-staging`.",
        },
        "rules": {
            "type": "object",
            "properties": dict.fromkeys(known, levels),
            "additionalProperties": False,
            "description": "Rule id -> level. The level of the policy with that name wins.",
        },
        "exceptions": {
            "type": "array",
            "description": "Findings that are accepted for a reason until a day.",
            "items": {
                "type": "object",
                "properties": {
                    "rule": {"type": "string", "enum": list(by_id())},
                    "object": {"type": "string", "minLength": 1},
                    "reason": {"type": "string", "minLength": 1},
                    "until": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
                },
                "required": ["rule", "object", "reason", "until"],
                "additionalProperties": False,
            },
        },
        "thresholds": {
            "type": "object",
            "properties": {name: threshold_schema(name) for name in THRESHOLDS},
            "additionalProperties": False,
            "description": "Limits of the rules; each is a property of its rules' policies too.",
        },
        "budgets": {
            "type": "object",
            "description": "Environment (or `*`) -> most that its pools may cost.",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "standingUsdPerMonth": {"type": "number", "minimum": 0},
                    "exposureUsdPerHour": {"type": "number", "minimum": 0},
                },
                "additionalProperties": False,
            },
        },
        "ownerTags": {
            "type": ["array", "object"],
            "items": {"type": "string", "minLength": 1},
            "additionalProperties": {"type": ["string", "null"]},
            "description": "Keys of the owner tags, or keys with the values that patches write.",
        },
        "requireAttribution": {
            "type": "boolean",
            "description": "Whether GPU cost is booked by pod from measured use.",
        },
        "fleet": {
            "type": ["string", "object"],
            "description": "The fleet of another program: a path from the pack's folder, or data.",
        },
        "everythingOff": {
            "type": "string",
            "minLength": 1,
            "description": "Why no rule is on. Without it a pack in which none is on is a "
            "mandatory finding.",
        },
        "clusters": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "Folders that are a cluster each: nothing is compared across them.",
        },
    }
