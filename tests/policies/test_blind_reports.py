"""Public reports that nobody had tried, through `audit`: what has to be said of each, decided from
the thread before the program was asked (blind_reports.yaml)."""

from pathlib import Path
from typing import Any

import pytest

from tests.policies.test_late_reports import codes
from tests.reading import read_yaml

REPORTS: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("blind_reports.yaml"))


@pytest.mark.parametrize(
    "report", [one for one in REPORTS if "missed" not in one], ids=lambda one: one["report"]
)
def test_the_cause_is_said(report: dict[str, Any], tmp_path: Path):
    assert report["code"] in codes(report, tmp_path)


def test_what_was_said_at_first():
    """3 of the first 20, 2 of the 12 after them, none of the next 6,
    4 of the next 32, none of the 6 that were drawn after the repair of those, 3 of the
    20 after them, 1 of the next 14, and none of the last 6."""
    assert len({one["report"] for one in REPORTS}) == len(REPORTS)
    assert all(("code" in one) != bool(one.get("missed")) for one in REPORTS)
    assert all(one["date"] >= "2025-06" for one in REPORTS)
    assert sum("first" in one for one in REPORTS[:20]) == 3
    assert sum("first" in one for one in REPORTS[20:32]) == 2
    assert not any("first" in one for one in REPORTS[32:38])
    assert sum("first" in one for one in REPORTS[38:70]) == 4
    assert not any("first" in one for one in REPORTS[70:76])
    assert sum("first" in one for one in REPORTS[76:96]) == 3
    assert sum("code" in one for one in REPORTS[76:96]) >= 12
    assert sum("first" in one for one in REPORTS[96:110]) == 1
    assert sum("code" in one for one in REPORTS[96:110]) >= 12
    assert not any("first" in one for one in REPORTS[110:116])
    assert all("code" in one for one in REPORTS[110:116])
    assert sum("code" in one for one in REPORTS[:38]) >= 19
    assert sum("code" in one for one in REPORTS[38:70]) >= 21
