"""Kubernetes quantities: `500m`, `2Gi`, `1e3`."""

import re
from fractions import Fraction
from functools import lru_cache

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+)"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FACTORS = {
    **{suffix: Fraction(10) ** power for suffix, power in _DECIMAL.items()},
    **{suffix: Fraction(2) ** power for suffix, power in _BINARY.items()},
}
_MOST_DIGITS = 40
_SMALLEST = Fraction(1, 10**9)
"""Smallest amount: Kubernetes rounds smaller amounts up to it."""
LARGEST = 2**63 - 1
"""Above it, Kubernetes computes with another number (`apimachinery` quantity.go)."""


@lru_cache(maxsize=4096)
def quantity(text: str) -> Fraction | None:
    """The exact value, None where Kubernetes refuses the text (`apimachinery` quantity.go)."""
    if len(text) > _MOST_DIGITS:
        return None
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix = Fraction(match["number"].rstrip(".") or "0"), match["suffix"]
    if suffix in _FACTORS:
        return number * _FACTORS[suffix]
    exponent = int(suffix[1:])
    if exponent < -_MOST_DIGITS and number:
        return _SMALLEST if number > 0 else -_SMALLEST
    return number * Fraction(10) ** exponent if exponent <= _MOST_DIGITS else None


@lru_cache(maxsize=4096)
def exceeds_largest(text: str) -> bool:
    """Whether a text is a quantity with a magnitude above `LARGEST`. Any number of digits and any
    exponent is compared at once: no such number is made."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return False
    whole, _, part = match["number"].lstrip("+-").partition(".")
    suffix = match["suffix"]
    exponent = suffix[1:] if suffix not in _BINARY and suffix not in _DECIMAL else "0"
    digits = (whole + part).lstrip("0")
    if not digits or len(exponent.lstrip("+-0")) > _MOST_DIGITS:
        return bool(digits) and not exponent.startswith("-")
    magnitude = len(digits) - len(part) + _DECIMAL.get(suffix, 0) + int(exponent)
    if abs(magnitude) > _MOST_DIGITS:
        return magnitude > 0
    leading = digits[:_MOST_DIGITS]
    value = int(leading) * Fraction(10) ** (magnitude - len(leading))
    return value * 2 ** _BINARY.get(suffix, 0) > LARGEST


# Durations as Go writes them.

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
