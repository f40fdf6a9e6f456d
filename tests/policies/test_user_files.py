"""Files of users, written from vendors' documents and public threads before the program was asked,
through `audit`: the required finding of each, and legal neighbours (user_files.yaml)."""

from pathlib import Path
from typing import Any

import pytest

from tests.policies.test_late_reports import codes
from tests.reading import read_yaml

REPORTS: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("user_files.yaml"))
LEGAL = [(report, near) for report in REPORTS for near in report["legal"]]


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: one["report"])
def test_the_cause_is_said(report: dict[str, Any], tmp_path: Path):
    assert report["code"] in codes(report, tmp_path)


@pytest.mark.parametrize(
    ("report", "near"), LEGAL, ids=[f"{one['code']}: {near['differs']}" for one, near in LEGAL]
)
def test_what_is_right_is_not_reported(
    report: dict[str, Any], near: dict[str, Any], tmp_path: Path
):
    files = dict(report["files"])
    for old, new in near["change"]:
        assert any(old in text for text in files.values())
        files = {name: text.replace(old, new) for name, text in files.items()}
    assert report["code"] not in codes({"files": files}, tmp_path)


def test_each_has_three_legal_files():
    assert all(len(one["legal"]) >= 3 for one in REPORTS)
