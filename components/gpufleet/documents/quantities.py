"""Kubernetes quantities: `500m`, `2Gi`, `1e3`."""

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+)"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MOST_DIGITS = 40


def quantity(text: str) -> Fraction | None:
    """The exact value, None where Kubernetes refuses the text (`apimachinery` quantity.go)."""
    if len(text) > _MOST_DIGITS:
        return None
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix = Fraction(match["number"].rstrip(".") or "0"), match["suffix"]
    if suffix in _BINARY:
        return number * 2 ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return number * Fraction(10) ** _DECIMAL[suffix]
    exponent = int(suffix[1:])
    return number * Fraction(10) ** exponent if abs(exponent) <= _MOST_DIGITS else None
