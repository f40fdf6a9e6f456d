"""JSON Schema of the settings that a project may give in `--policy-pack-config`."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from gpufleet.findings import Level
from gpufleet.rules.rule import Profile
from gpufleet_policies.rules.registry import EXCEPTION_INVALID, by_id
from gpufleet_policies.rules.settings import AUTO, THRESHOLDS, RuleSettings

_THRESHOLDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "oversizedRatio": (
        "Memory need over memory asked for, below which a GPU is too big.",
        ("gpu-oversized-for-model",),
    ),
    "oversizedMandatoryRatio": (
        "The same ratio, below which a declared need stops the deployment.",
        ("gpu-oversized-for-model",),
    ),
    "smallestSaving": (
        "Part of the cost that an alternative must save to be worth a finding.",
        ("gpu-oversized-for-model",),
    ),
    "idleSleepSeconds": (
        "A `sleep` of at least this time counts as endless waiting.",
        ("gpu-idle-command",),
    ),
    "largeNodeGpus": (
        "Number of GPUs from which a node is too large for one notebook.",
        ("interactive-pool-holds-large-nodes",),
    ),
    "standingUsdPerMonth": (
        "Allowed cost of an unused pool outside production.",
        ("nonprod-pool-minimum-above-zero",),
    ),
    "maxGpus": (
        "Largest number of GPUs of a pool that needs no confirmation.",
        ("gpu-pool-unbounded", "gpu-autoprovisioning-unbounded"),
    ),
    "quietUsdPerMonth": (
        "Standing GPU cost below which no budget alarm is needed.",
        ("budget-alarm-missing",),
    ),
    "trainingGpus": (
        "GPUs from which work that needs all its pods should wait in a queue.",
        ("training-without-queue-or-gang",),
    ),
    "manyTypes": (
        "Machine types that a spot pool should be able to choose from.",
        ("spot-without-diversity",),
    ),
    "budgetUsdPerHour": (
        "Most that a fleet may cost in an hour at its largest size.",
        ("gpu-budget-exceeded", "gpu-budget-missing"),
    ),
    "refusedWasteUsdPerMonth": (
        "Waste a month that stops in prod where the need is declared and a cheaper place is here.",
        ("gpu-oversized-for-model",),
    ),
    "longestWaiverDays": ("Days from today that a waiver may last at the most.", ()),
}
"""Threshold -> what it means, and the rules that use it."""


def thresholds_of(rule: str) -> tuple[str, ...]:
    """Thresholds that a rule uses."""
    return tuple(name for name, (_, rules) in _THRESHOLDS.items() if rule in rules)


def threshold_schema(name: str, settings: RuleSettings | None = None) -> dict[str, Any]:
    """The schema of one threshold; with settings its default is the value in force there."""
    found: dict[str, Any] = {
        "type": "number",
        "minimum": 0,
        "description": _THRESHOLDS[name][0],
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
