"""Durations as Kubernetes writes them: `30s`, `1h30m`, `Never`."""

import re
from typing import Any

from gpufleet_policies.facts.tristate import Fact, absent, known, unknown

_PARTS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
NEVER = "Never"
_LONGEST = 60
"""Characters; a longer text is no duration, and its figures no numbers anybody can add."""


def seconds(value: Any, place: str = "") -> Fact[int]:
    """Whole seconds; absent for nothing and for `Never`, unknown for what is no duration."""
    if value is None or value == NEVER:
        return absent(place)
    if isinstance(value, int) and not isinstance(value, bool):
        return known(value, place=place)
    if not isinstance(value, str) or not value:
        return unknown(place)
    if len(value) > _LONGEST:
        return unknown(place)
    if value.isdecimal():
        return known(int(value), place=place)
    parts = _PARTS.findall(value)
    if not parts or "".join(figure + unit for figure, unit in parts) != value:
        return unknown(place)
    return known(int(sum(float(figure) * _SECONDS[unit] for figure, unit in parts)), place=place)
