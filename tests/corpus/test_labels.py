"""Every finding on the public files has a label that was decided by reading the file.

`labels.csv`: right (true, and worth the reader's time), noise (true, and not worth it) or wrong.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.corpus.audits import CORPORA, findings, needs_corpora, runs

LABELS = Path(__file__).with_name("labels.csv")
KEY = ("file", "object", "rule", "where")
MOST_WRONG, MOST_NOISE = 0.03, 0.10


def labels() -> dict[tuple[str, ...], dict[str, str]]:
    with LABELS.open(newline="") as text:
        return {tuple(row[key] for key in KEY): row for row in csv.DictReader(text)}


@needs_corpora
def test_every_finding_is_labelled_and_few_are_wrong_or_noise(
    record_property: pytest.FixtureRequest,
) -> None:
    known, counted = labels(), Counter[str]()
    unlabelled: list[str] = []
    wrong_errors: list[str] = []
    for run in runs():
        for file, found in findings(run):
            finding = found
            key = (file, str(finding.locator), finding.code, finding.path)
            row = known.get(key)
            if row is None:
                unlabelled.append(f"{' | '.join(key)}: {finding.message}")
                continue
            counted[row["label"]] += 1
            if row["label"] == "wrong" and finding.level.value == "mandatory":
                wrong_errors.append(" | ".join(key))
    total = sum(counted.values())
    record_property("labels", dict(counted))  # type: ignore[operator]
    assert not unlabelled, "\n".join(["read these files and label them:", *unlabelled])
    assert wrong_errors == []
    assert counted["wrong"] <= MOST_WRONG * total, counted
    assert counted["noise"] <= MOST_NOISE * total, counted


def test_labels_are_of_three_kinds_and_have_reasons() -> None:
    rows = labels().values()
    assert {row["label"] for row in rows} <= {"right", "noise", "wrong"}
    assert [row for row in rows if not row["reason"].strip()] == []


@needs_corpora
def test_labels_are_of_files_that_exist() -> None:
    missing = {row["file"] for row in labels().values() if not (CORPORA / row["file"]).is_file()}
    assert missing == set()
