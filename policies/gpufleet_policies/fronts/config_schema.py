"""JSON Schema of the properties a project may give each policy in `--policy-pack-config`."""

from typing import Any

from gpufleet_policies.rules.registry import EXCEPTION_INVALID, RULES
from gpufleet_policies.rules.rule import Level, Profile
from gpufleet_policies.rules.settings import AUTO, THRESHOLDS


def schema_properties() -> dict[str, Any]:
    """One property per setting; the engine refuses wrong properties before any check."""
    levels = {"type": "string", "enum": [level.value for level in Level]}
    return {
        "profile": {"type": "string", "enum": [AUTO, *(profile.value for profile in Profile)]},
        "environment": {"type": "string"},
        "rules": {
            "type": "object",
            "properties": dict.fromkeys((*(r.id for r in RULES), EXCEPTION_INVALID), levels),
            "additionalProperties": False,
        },
        "exceptions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "rule": {"type": "string", "enum": [rule.id for rule in RULES]},
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
            "properties": {name: {"type": "number", "minimum": 0} for name in THRESHOLDS},
            "additionalProperties": False,
        },
        "budgets": {
            "type": "object",
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
        },
        "requireAttribution": {"type": "boolean"},
        "fleet": {"type": ["string", "object"]},
        "clusters": {"type": "array", "items": {"type": "string", "minLength": 1}},
    }
