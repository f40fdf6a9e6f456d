"""The examples for CI name commands, options and files that exist."""

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from gpufleet.cli.audit import command

FOLDER = Path(__file__).parents[2] / "examples" / "ci"
FILES = sorted(FOLDER.glob("*.yml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_pipeline_is_yaml_and_runs_both_gates(path: Path):
    assert isinstance(yaml.safe_load(path.read_text()), dict)
    text = path.read_text()
    assert "gpufleet audit" in text
    assert "pulumi preview --policy-pack policies" in text or "policyPacks: policies" in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_its_commands_are_understood(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = re.sub(r">\s*\n\s+(gpufleet)", r"\1", path.read_text())
    text = re.sub(r"\n\s+(--)", r" \1", text)
    lines = [
        line for line in text.splitlines() if re.match(r"\s*(- )?(run: )?gpufleet audit ", line)
    ]
    assert len(lines) >= 2
    for line in lines:
        words = shlex.split(line[line.index("gpufleet") :].partition(" > ")[0].partition(" || ")[0])
        context = command.make_context("audit", words[2:])
        assert isinstance(context, click.Context)
        assert context.params["config"] == "policies/gpu-policy.yaml"
        assert context.params["baseline"] == "gpufleet-baseline.json"
