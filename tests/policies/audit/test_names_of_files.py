"""Names of files are bytes, and need not be text of any encoding."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet_policies.commands.audit import command
from tests.policies.manifests import VLLM


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    try:
        Path(os.fsdecode(b"\xff.yaml")).write_text(VLLM)
    except OSError:
        pytest.skip("this file system takes names of one encoding only")
    return tmp_path


def run(*arguments: str) -> str:
    arguments = ("--profile", "prod", "--jobs", "1", *arguments, ".")
    return CliRunner().invoke(command, arguments, catch_exceptions=False).stdout


@pytest.mark.usefixtures("folder")
def test_sarif_locates_them_by_their_bytes():
    results = json.loads(run("--format", "sarif"))["runs"][0]["results"]
    places = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results}
    assert places == {"%FF.yaml"}


def test_a_baseline_has_them_and_is_read_again(folder: Path):
    run("--write-baseline")
    written = json.loads((folder / "gpufleet-baseline.json").read_text())
    assert {one["file"] for one in written["findings"]} == {"\udcff.yaml"}
    said = json.loads(run("--baseline", "gpufleet-baseline.json", "--format", "json"))
    assert (said["findings"], said["inBaseline"]) == ([], len(written["findings"]))
