"""Public files that the rules were not written with, and the label of each finding.

`jury.jsonl` has one document set a line: the fields of a public file that concern GPUs, in short
form, with its repository, path and commit. The files of one repository are audited together, at
their own paths. `jury_labels.csv` has a label of each finding, decided with the file and the
vendor's documents: right, noise (true, but not worth the reader's time) or wrong.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpufleet.findings import Finding, Level
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.resolve.charts import helm
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY
from tests.policies.resolve.charts import NEEDED

FILES = [
    json.loads(line)
    for line in Path(__file__).with_name("jury.jsonl").read_text(encoding="utf-8").splitlines()
]
CHARTED = {one["repository"] for one in FILES if one["path"].endswith("Chart.yaml")}
"""Repositories with a chart: where helm is missing, its objects are not rendered."""
NOT_ASKED = frozenset() if helm() else CHARTED
LABELS = Path(__file__).with_name("jury_labels.csv")
FAULTS = Path(__file__).with_name("jury_faults.csv")
KEY = ("repository", "path", "object", "rule", "where")
MOST_WRONG, MOST_NOISE = 0.03, 0.10


def labels() -> dict[tuple[str, ...], dict[str, str]]:
    with LABELS.open(newline="", encoding="utf-8") as text:
        return {tuple(row[key] for key in KEY): row for row in csv.DictReader(text)}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[tuple[str, ...], Finding]]:
    root = tmp_path_factory.mktemp("jury")
    return [
        (key, finding)
        for repository in dict.fromkeys(one["repository"] for one in FILES)
        if repository not in NOT_ASKED
        for key, finding in _audited(repository, root / repository.replace("/", "__"))
    ]


def _audited(repository: str, folder: Path) -> Iterator[tuple[tuple[str, ...], Finding]]:
    for one in FILES:
        if one["repository"] == repository:
            file = folder / one["path"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(one["text"], encoding="utf-8")
    for placed in audit(find_inputs([str(folder)]), read_settings({}), TODAY).findings:
        finding = placed
        path = str(Path(placed.file).relative_to(folder))
        where = finding.path
        yield (repository, path, str(finding.locator), finding.code, where), placed


def test_every_finding_is_labelled_and_few_are_wrong_or_noise(found) -> None:
    known = labels()
    unlabelled = [f"{' | '.join(key)}: {one.text}" for key, one in found if key not in known]
    assert not unlabelled, "\n".join(["read these files and label them:", *unlabelled])
    counted = Counter(known[key]["label"] for key, _ in found)
    wrong_errors = [
        key for key, one in found if known[key]["label"] == "wrong" and one.level is Level.MANDATORY
    ]
    assert wrong_errors == []
    total = sum(counted.values())
    assert counted["wrong"] <= MOST_WRONG * total, counted
    assert counted["noise"] <= MOST_NOISE * total, counted


def test_labels_are_of_findings_and_have_reasons(found) -> None:
    rows = labels()
    assert {key for key in rows if key[0] not in NOT_ASKED} <= {key for key, _ in found}
    assert {row["label"] for row in rows.values()} <= {"right", "noise", "wrong"}
    assert [key for key, row in rows.items() if not row["reason"].strip()] == []


@NEEDED
def test_charts_of_the_files_are_rendered(found) -> None:
    assert {key[0] for key, _ in found} >= CHARTED


def test_the_figures_of_the_documentation_are_those_of_the_labels() -> None:
    text = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    rounds = {(one["repository"], one["path"]): one["round"] for one in FILES}
    for number in sorted(set(rounds.values())):
        counted = Counter(
            row["label"]
            for row in labels().values()
            if rounds[row["repository"], row["path"]] == number
        )
        right, noise, wrong = (counted[label] for label in ("right", "noise", "wrong"))
        files = sum(one["round"] == number for one in FILES)
        total = right + noise + wrong
        assert f"| round {number} | {files} | {total} | {right} | {noise} | {wrong} |" in text


def faults() -> list[dict[str, str]]:
    with FAULTS.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def test_faults_that_were_written_down_before_the_first_run_are_found(found) -> None:
    """A row without a rule is a fault that no rule finds: a new rule fills it in."""
    rules = {(key[0], key[1], key[3]) for key, _ in found}
    named = [(row["repository"], row["path"], row["rule"]) for row in faults() if row["rule"]]
    assert [row for row in named if row[0] not in NOT_ASKED and row not in rules] == []
    known = {(one["repository"], one["path"]) for one in FILES}
    assert {(row["repository"], row["path"]) for row in faults()} <= known


def test_the_recall_of_the_documentation_is_that_of_the_faults() -> None:
    text = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    rounds = {(one["repository"], one["path"]): one["round"] for one in FILES}
    for number in sorted({rounds[row["repository"], row["path"]] for row in faults()}):
        rows = [row for row in faults() if rounds[row["repository"], row["path"]] == number]
        found = sum(bool(row["rule"]) for row in rows)
        assert f"| round {number} | {len(rows)} | {found} |" in text


def test_each_file_has_a_source_and_is_no_copy_of_another() -> None:
    sources = [(one["repository"], one["path"], one["commit"]) for one in FILES]
    assert len(set(sources)) == len(FILES)
    assert [one for one in sources if len(one[2]) != 40] == []
