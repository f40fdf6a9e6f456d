"""Quantities and durations."""

from fractions import Fraction

import pytest

from gpufleet.documents.quantities import exceeds_largest, go_duration, quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [("1Gi", 1 << 30), ("1500m", 1.5), ("1e3", 1000), (".5", 0.5), ("1.", 1), ("-2", -2)],
)
def test_quantities(text: str, value: float) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize("text", ["", "1GB", "Gi", "1 Gi", "1e", "--1", "1e99999", "9" * 60])
def test_no_quantities(text: str) -> None:
    assert quantity(text) is None


def test_durations() -> None:
    assert all(go_duration(text) is not None for text in ("60s", "1h30m", "0", "-1.5h", ".5s"))
    assert not any(go_duration(text) is not None for text in ("60", "1h30", "", "s", "1 h"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h30m", 5400),
        ("-1.5h", -5400),
        ("+.5s", Fraction(1, 2)),
        ("300ms", Fraction(3, 10)),
        ("1us2\u00b5s3\u03bcs", Fraction(6, 10**6)),
        ("7ns", Fraction(7, 10**9)),
        ("1.s", 1),
        ("0", 0),
    ],
)
def test_durations_of_go(text: str, seconds: Fraction) -> None:
    assert go_duration(text) == seconds


@pytest.mark.parametrize("text", ["1d", "1h 1h", "9" * 30 + "h", "9" * 5000 + "s", "\u0663s"])
def test_no_durations_of_go(text: str) -> None:
    assert go_duration(text) is None


@pytest.mark.parametrize(
    ("text", "exceeds"),
    [
        ("9223372036854775807", False),
        ("9223372036854775808", True),
        ("9223372036854775807.5", True),
        ("9223372036854775.807k", False),
        ("9223372036854775.808k", True),
        ("-1e19", True),
        ("9E", False),
        ("10E", True),
        ("7Ei", False),
        ("8Ei", True),
        ("1" * 5000, True),
        ("0" * 5000 + "1", False),
        ("0." + "0" * 5000 + "e5001", False),
        ("1e" + "9" * 5000, True),
        ("1e-" + "9" * 5000, False),
        ("0e" + "9" * 5000, False),
        ("two", False),
    ],
)
def test_what_exceeds_the_largest_quantity(text: str, exceeds: bool) -> None:
    assert exceeds_largest(text) == exceeds
