"""The checks of OpenSSF Scorecard that files of the repository decide (docs/releasing.md)."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.reading import yaml_data

ROOT = Path(__file__).parents[2]
HOSTED = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GIVEN = [ROOT / "examples" / "ci" / "github-actions.yml"]
"""Workflows that users copy: they keep the same rules."""
WORKFLOWS = [*HOSTED, *GIVEN]
each = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)


def workflow(file: Path) -> dict[Any, Any]:
    return yaml_data(file.read_text(encoding="utf-8"))


def steps(file: Path) -> list[dict[str, Any]]:
    made = workflow(file)
    jobs = made.get("jobs", {}).values()
    return [*made.get("runs", {}).get("steps", ()), *(s for job in jobs for s in job["steps"])]


def test_binary_artifacts() -> None:
    """Ends of names: those that the check lists for Python, Java and C."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    ends = {".pyc", ".pyo", ".class", ".jar", ".war", ".so", ".dll", ".dylib", ".o", ".a", ".exe"}
    assert [name for name in listed if Path(name).suffix in ends | {".whl"}] == []


def test_ci_tests() -> None:
    (file,) = HOSTED
    assert True in workflow(file)  # the key `on`, which YAML 1.1 reads as true
    assert "pull_request" in workflow(file)[True]
    assert [step["run"] for step in steps(file) if "run" in step] == [".ci/run"]


@each
def test_dangerous_workflow(file: Path) -> None:
    assert not {"pull_request_target", "workflow_run"} & set(workflow(file)[True])
    for step in steps(file):
        assert "${{ github.event" not in step.get("run", "")
        assert "${{ inputs" not in step.get("run", "")


def test_the_action_gives_inputs_to_its_script_as_variables() -> None:
    scripts = [step["run"] for step in steps(ROOT / "action.yml") if "run" in step]
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)


def test_license() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert re.search(r"Apache License\s+Version 2\.0", text)


def test_pinned_dependencies() -> None:
    pipelines = sorted((ROOT / "examples" / "ci").glob("*.yml"))
    used = [
        reference
        for file in [ROOT / "action.yml", *HOSTED, *pipelines]
        for reference in re.findall(r"^\s*-? ?(?:uses|image): (\S+)", file.read_text(), re.M)
    ]
    bases = re.findall(r"^FROM (\S+)", (ROOT / "release" / "Containerfile").read_text(), re.M)
    digest = re.compile(r"@(sha256:[0-9a-f]{64}|[0-9a-f]{40})$")
    assert len(used) >= 10
    assert [one for one in [*used, *bases] if not digest.search(one)] == []
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        pins = re.findall(r"^[\w.\[\]-]+==", lock.read_text(), re.M)
        if lock.name != "constraints.txt":
            assert lock.read_text().count("--hash=sha256:") >= len(pins) > 0
    modules = sorted((ROOT / "tools").glob("*/go.mod"))
    assert [file for file in modules if not file.with_name("go.sum").is_file()] == []


def test_security_policy() -> None:
    """The check looks for a way to report and for words about time."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Reporting a vulnerability" in text
    assert "within seven days" in text


@each
def test_token_permissions(file: Path) -> None:
    assert workflow(file)["permissions"] == {"contents": "read"}
    given = [job["permissions"] for job in workflow(file)["jobs"].values() if "permissions" in job]
    written = {name for one in given for name, right in one.items() if right == "write"}
    assert written <= {"security-events"}


def test_what_is_not_there_is_said() -> None:
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([A-Z][A-Za-z-]+) \| (.*) \|$", page, re.M))
    assert len(rows) == 18  # the checks of the page that the section links
    absent = {name for name, text in rows.items() if text.startswith("not there")}
    assert absent == {
        "Dependency-Update-Tool", "Fuzzing", "Packaging", "SAST", "Signed-Releases",
    }  # fmt: skip
    tested = {name for name, text in rows.items() if text.startswith("tested")}
    functions = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name.lower().replace("-", "_") for name in tested} <= functions
