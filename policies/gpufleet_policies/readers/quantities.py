"""Kubernetes quantities: `2`, `500m`, `16Gi`, `1e3`."""

from decimal import Decimal
from typing import Any

from gpufleet.cluster.container import Amount
from gpufleet.documents.quantities import quantity
from gpufleet_policies.readers.reading import is_meant


def amount(value: Any) -> Amount | None:
    """A quantity as a number in its base unit; None for other texts (`$(GPUS)`, `two`, `-1`)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    written = str(value).strip()
    found = quantity(written)
    if found is None or found < 0:
        return None
    base = Decimal(found.numerator) / Decimal(found.denominator)
    return Amount(written, base) if is_meant(base) else None


def whole_amount(value: Any) -> int | None:
    """A quantity that is a whole number; None for any other."""
    found = amount(value)
    return int(found.number) if found is not None and found.is_whole else None
