"""Results of `gpufleet check` for public configurations, compared with a manual assessment.

Each line of `nvidia_configs.jsonl` is one finding: right; noise (true, but of no use to the
reader); or wrong. A new finding must be labelled before it lands.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from gpufleet.findings import Severity
from gpufleet_policies.configurations.kinds import validate_text

FILES = Path(__file__).resolve().parents[3] / "shared/corpora/nvidia-configs"
OF_WRAPPERS = "wrapped"
"""Objects of GitOps tools: `gpufleet audit` opens them."""

pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason=f"public files are not at {FILES}")


def labels() -> list[dict[str, str]]:
    rows = Path(__file__).with_name("nvidia_configs.jsonl").read_text().splitlines()
    return [json.loads(row) for row in rows]


@pytest.fixture(scope="module")
def found() -> list[tuple[str, str, str, Severity]]:
    """File, code, path and severity of every finding."""
    paths = sorted(path for path in FILES.rglob("*") if path.is_file())
    assert len(paths) > 100
    return [
        (path.relative_to(FILES).as_posix(), finding.code, finding.path, finding.severity)
        for path in paths
        if path.parent.name != OF_WRAPPERS
        for finding in validate_text(path.parent.name, path.read_bytes()).findings
    ]


def test_every_finding_is_judged(found: list[tuple[str, str, str, Severity]]) -> None:
    judged = sorted((row["file"], row["code"], row["path"]) for row in labels())
    assert sorted(row[:3] for row in found) == judged


def test_no_error_is_wrong_and_few_are_noise(found: list[tuple[str, str, str, Severity]]) -> None:
    errors = {row[:3] for row in found if row[3] is Severity.ERROR}
    by_label = Counter(
        row["label"] for row in labels() if (row["file"], row["code"], row["path"]) in errors
    )
    assert by_label["wrong"] == 0
    assert by_label["noise"] <= 1


def test_no_warning_is_wrong() -> None:
    assert [row for row in labels() if row["label"] == "wrong"] == []
    assert all(row["reason"] for row in labels())
