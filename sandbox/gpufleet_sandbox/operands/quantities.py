"""Kubernetes quantities by value: the API server rewrites `1179648Mi` as `1152Gi`."""

import re
from decimal import Decimal

_FORM = re.compile(r"^([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$")
_FACTORS = {"": Decimal(1), "m": Decimal("0.001")}
_FACTORS |= {name: Decimal(1000) ** power for power, name in enumerate("kMGTPE", 1)}
_FACTORS |= {f"{name}i": Decimal(1024) ** power for power, name in enumerate("KMGTPE", 1)}


def quantity(text: str) -> Decimal:
    """The value of a quantity; raises ValueError for another text. No exponents, no signs."""
    match = _FORM.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity, such as '96', '500m' or '1152Gi'")
    return Decimal(match[1]) * _FACTORS[match[2] or ""]
