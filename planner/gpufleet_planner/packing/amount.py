"""Amounts as people write them in a packing file: memory with a unit, CPUs, a part of a GPU."""

import re
from decimal import Decimal
from fractions import Fraction

from gpufleet.documents.quantities import quantity

_UNITS = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
    **{letter: 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGT", 1)},
}
_FOLDED = {unit.lower(): size for unit, size in _UNITS.items()}
_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def read_memory(value: object) -> int:
    """Bytes of `20GiB`, `20 GB`, `500Mi` or a whole number of bytes; part of a byte counts as one.

    1 GB (and G) is 10^9 bytes, 1 GiB (and Gi) 2^30. Raises ValueError for anything else, and for a
    number without a unit that would be less than a mebibyte: there a unit was forgotten.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError("write memory with a unit, such as 20GiB")  # noqa: TRY004  pydantic's
    found = _MEMORY.fullmatch(str(value))
    if found is None or found[2].lower() not in _FOLDED:
        raise ValueError("write memory with a unit, such as 20GiB, 20GB or 500MiB")
    amount = Decimal(found[1]) * _FOLDED[found[2].lower()]
    if not 0 < amount <= 1 << 50:
        raise ValueError("memory must be above 0 and at most 1 PiB")
    if not found[2] and amount < 1 << 20:
        raise ValueError(f"{found[1]} without a unit is {found[1]} bytes: write {found[1]}GiB")
    return int(amount.to_integral_value(rounding="ROUND_CEILING"))


def read_cpu(value: object) -> int:
    """Milli-CPUs of `4`, `0.5` or `500m`. Raises ValueError."""
    found = None if isinstance(value, bool) else quantity(str(value).strip())
    if found is None or not 0 < found * 1000 <= 10**8 or (found * 1000).denominator != 1:
        raise ValueError("write CPUs such as 4, 0.5 or 500m")
    return int(found * 1000)


def read_part(value: object) -> Fraction:
    """A part of a GPU: `0.25`, `1/4` or `25%`, above 0 and at most 1. Raises ValueError."""
    text = str(value).strip()
    try:
        part = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError("write a part of a GPU, such as 0.25, 1/4 or 25%") from None
    if isinstance(value, bool) or not 0 < part <= 1:
        raise ValueError("a part of a GPU is above 0 and at most 1")
    return part
