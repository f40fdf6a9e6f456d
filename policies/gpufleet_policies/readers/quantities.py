"""Kubernetes quantities: `2`, `500m`, `16Gi`, `1e3`."""

import re
from decimal import Decimal
from typing import Any

from gpufleet_policies.facts.workload import Amount
from gpufleet_policies.readers.reading import is_meant

_QUANTITY = re.compile(
    r"^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([eE][+-]?[0-9]{1,3})|([A-Za-z]{0,2}))$"
)

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
"""Suffixes of resource.Quantity (kubernetes apimachinery `pkg/api/resource/suffix.go`)."""


def amount(value: Any) -> Amount | None:
    """A quantity as a number in its base unit; None when it is none (`$(GPUS)`, `two`, `-1`)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    written = str(value).strip()
    found = _QUANTITY.match(written)
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    if not exponent and suffix not in _SUFFIXES:
        return None
    base = Decimal(number + exponent) if exponent else Decimal(number) * _SUFFIXES[suffix]
    return Amount(written, base) if base >= 0 and is_meant(base) else None
