"""Public reports about programs next to NVIDIA's, through `audit`: what has to be said of each,
decided from the thread before the program was asked (vendor_reports.yaml)."""

from pathlib import Path
from typing import Any

import pytest

from tests.policies.test_late_reports import codes
from tests.reading import read_yaml

REPORTS: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("vendor_reports.yaml"))
SAID = [one for one in REPORTS if "missed" not in one]


@pytest.mark.parametrize("report", SAID, ids=lambda one: one["report"])
def test_the_cause_is_said(report: dict[str, Any], tmp_path: Path):
    assert report["code"] in codes(report, tmp_path)


@pytest.mark.parametrize("report", [r for r in REPORTS if "missed" in r], ids=lambda r: r["report"])
def test_what_is_missed_says_why(report: dict[str, Any]):
    assert "code" not in report
    assert report["missed"]


def test_how_many_are_said():
    """Of those that were kept apart, asked once, one of eight was said, and three are now."""
    held = [one for one in REPORTS if "held" in one]
    assert len({one["report"] for one in REPORTS}) == len(REPORTS)
    assert sum("first" in one for one in held) == 1
    assert (len(held), sum("code" in one for one in held)) == (8, 3)
    assert len(SAID) >= 13
