from decimal import Decimal

import pytest

from gpufleet_sandbox.operands.quantities import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("96", 96),
        ("500m", Decimal("0.5")),
        (".5", Decimal("0.5")),
        ("2k", 2000),
        ("1179648Mi", 1152 * 2**30),
        ("1152Gi", 1152 * 2**30),
        ("1Ei", 2**60),
    ],
)
def test_by_value(text: str, value: Decimal | int) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "12GB", "1 Gi", "-1", "Gi", "1e3"])
def test_other_texts(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Kubernetes quantity"):
        quantity(text)
