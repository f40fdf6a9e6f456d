"""Durations as Go writes them."""

import re
from fractions import Fraction

_GO = re.compile(r"[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)")
_PART = re.compile(r"([0-9.]+)([a-z\u00b5\u03bc]+)")
_SECONDS = {
    "ns": Fraction(1, 10**9),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs"), Fraction(1, 10**6)),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_LONGEST = Fraction(1 << 63, 10**9)
"""Seconds; Go counts nanoseconds in 64 bits."""
_MOST_CHARACTERS = 100


def go_duration(text: str) -> Fraction | None:
    """The seconds of `300ms` or `1h30m`; None where Go's time.ParseDuration refuses the text."""
    if len(text) > _MOST_CHARACTERS or _GO.fullmatch(text) is None:
        return None
    parts = (Fraction(number.rstrip(".")) * _SECONDS[unit] for number, unit in _PART.findall(text))
    seconds = sum(parts, Fraction(0))
    if seconds >= _LONGEST:
        return None
    return -seconds if text.startswith("-") else seconds
