"""Durations as Kubernetes writes them: `30s`, `1h30m`, `Never`."""

from typing import Any

from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.documents.durations import go_duration

NEVER = "Never"
_LONGEST = 60
"""Characters; longer figures are no numbers anybody can add."""


def seconds(value: Any, place: str = "") -> Fact[int]:
    """Whole seconds; absent for nothing and for `Never`, unknown for what is not a duration."""
    if value is None or value == NEVER:
        return absent(place)
    if isinstance(value, int) and not isinstance(value, bool):
        return known(value, place=place)
    if not isinstance(value, str) or len(value) > _LONGEST:
        return unknown(place)
    if value.isdecimal():
        return known(int(value), place=place)
    found = go_duration(value)
    return unknown(place) if found is None or found < 0 else known(int(found), place=place)
