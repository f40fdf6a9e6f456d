"""Forty public reports about NVIDIA's software, through `audit`: the required finding of each,
decided from the thread before the program ran (nvidia_reports.yaml), and legal neighbours of the
rules that they led to (nvidia_neighbours.yaml)."""

from pathlib import Path
from typing import Any

import pytest

from tests.policies.test_late_reports import codes
from tests.reading import read_yaml

HERE = Path(__file__)
REPORTS: list[dict[str, Any]] = read_yaml(HERE.with_name("nvidia_reports.yaml"))
NEIGHBOURS: list[dict[str, Any]] = read_yaml(HERE.with_name("nvidia_neighbours.yaml"))
SAID = [one for one in REPORTS if "code" in one]


@pytest.mark.parametrize("report", SAID, ids=lambda one: one["report"])
def test_the_cause_is_reported(report: dict[str, Any], tmp_path: Path):
    assert report["code"] in codes(report, tmp_path)


@pytest.mark.parametrize("near", NEIGHBOURS, ids=lambda one: f"{one['of']}: {one['differs']}")
def test_what_is_right_is_not_reported(near: dict[str, Any], tmp_path: Path):
    assert near["of"] not in codes(near, tmp_path)


def test_every_miss_has_a_reason_and_reports_are_of_ten_repositories():
    assert len({one["report"] for one in REPORTS}) == len(REPORTS) == 40
    assert all(one.get("missed") or one.get("code") for one in REPORTS)
    assert len({one["report"].partition("#")[0] for one in REPORTS}) >= 10
    held = [one for one in REPORTS if "held" in one]
    assert (len(held), sum("code" in one for one in held), len(SAID)) == (12, 9, 37)
    assert sum("first" in one for one in REPORTS) == 4
