"""The examples for CI run as they are shipped, the first time and with a baseline."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner

from gpufleet_policies.commands.policies import command
from tests.policies.audit.test_command import IDLE
from tests.reading import yaml_data

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "ci"
GITHUB = "github-actions.yml"
GITLAB = "gitlab-ci.yml"
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $*" in
  "pip install vendor/pulumi_gpufleet-VERSION-py3-none-any.whl") ;;
  "pip install REPOSITORY") ;;
  "pip "*) exit 1 ;;
  "pulumi install --cwd "*) test -f "$3/PulumiPolicy.yaml" ;;
  "helm template "*) cat deploy/shell.yaml | sed s/shell/rendered/ ;;
esac
"""
"""pip, helm and pulumi: no network here. They fail where the example names what is not there."""


def steps(file: str, job: str) -> list[str]:
    """The commands of a job, each as the runner hands it to a shell."""
    document = yaml_data((FOLDER / file).read_text())
    if file == GITLAB:
        return document[job]["script"]
    return [step["run"] for step in document["jobs"][job]["steps"] if "run" in step]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that follows the README of the examples."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("pip", "helm", "pulumi"):
        text = STAND_IN.replace("VERSION", _version()).replace("REPOSITORY", str(ROOT))
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    audit = programs / "gpufleet"
    audit.write_text(f'#!/bin/sh\nexec {sys.executable} -m gpufleet.cli "$@"\n')
    audit.chmod(0o755)
    project = tmp_path / "project"
    (project / "deploy").mkdir(parents=True)
    (project / "deploy" / "shell.yaml").write_text(IDLE)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    made = CliRunner().invoke(command, ["init", "policies"])
    assert made.exit_code == 0, made.output
    (project / "policies" / "gpu-policy.yaml").write_text("profile: prod\n")
    return project


def _version() -> str:
    """Version of the product: the examples name it."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def run(commands: list[str]) -> list[subprocess.CompletedProcess[str]]:
    """Every command as CI runs them, up to the first that fails."""
    done: list[subprocess.CompletedProcess[str]] = []
    for text in commands:
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
        done.append(subprocess.run(shell, capture_output=True, text=True, check=False))
        if done[-1].returncode:
            break
    return done


@pytest.mark.parametrize(
    ("file", "job"),
    [(GITHUB, "manifests"), (GITLAB, "gpu-manifests")],
)
def test_the_gate_of_manifests_runs_as_shipped(
    project: Path, file: str, job: str, monkeypatch: pytest.MonkeyPatch
):
    document = yaml_data((FOLDER / file).read_text())
    monkeypatch.setenv("GPUFLEET", document["variables" if file == GITLAB else "env"]["GPUFLEET"])
    commands = steps(file, job)
    first = run(commands)
    assert len(first) == len(commands), first[-1].stderr
    assert first[-1].returncode == 1, "the first run has no baseline, and a finding"
    assert "no baseline gpufleet-baseline.json, so every finding counts" in first[-1].stderr
    assert "gpu-idle-command" in first[-1].stdout
    reported = _reported(project)
    assert reported

    words = "audit deploy --config policies/gpu-policy.yaml --write-baseline"
    assert words in (FOLDER / "README.md").read_text()
    more = " rendered.yaml" if file == GITHUB else ""
    baseline = f"gpufleet {words}".replace("deploy", f"deploy{more}", 1)
    assert run([baseline])[0].returncode == 0
    assert [one.returncode for one in run(commands)] == [0] * len(commands)
    (project / "deploy" / "new.yaml").write_text(IDLE.replace("name: shell", "name: new"))
    assert run(commands)[-1].returncode == 1, "a new finding fails"


def _reported(project: Path) -> bool:
    """Whether the report that the pipeline hands on holds the finding."""
    sarif, junit = project / "gpufleet.sarif", project / "gpufleet.xml"
    if sarif.is_file():
        return bool(json.loads(sarif.read_text())["runs"][0]["results"])
    return fromstring(junit.read_text()).get("failures") != "0"


@pytest.mark.parametrize(("file", "job"), [(GITHUB, "preview"), (GITLAB, "gpu-preview")])
def test_the_gate_of_programs_installs_the_program_and_the_pack(
    project: Path, tmp_path: Path, file: str, job: str
):
    assert all(one.returncode == 0 for one in run(steps(file, job)))
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[:2] == ["pulumi install", "pulumi install --cwd policies"]
    assert calls[2].startswith("pulumi preview --stack prod --policy-pack policies")


@pytest.mark.parametrize("file", [GITHUB, GITLAB])
def test_what_jobs_hand_on_is_what_they_write(file: str):
    text = (FOLDER / file).read_text()
    written = "sarif=gpufleet.sarif" if file == GITHUB else "junit=gpufleet.xml"
    assert f"--output {written}" in text
    assert text.count(written.partition("=")[2]) >= 2


@pytest.mark.parametrize(
    "settings",
    [{"config": "policies/gpu-policy.yaml"}, {}],
)
def test_the_action_runs_as_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
):
    action = yaml_data((ROOT / "action.yml").read_text())
    inputs = {name: one.get("default", "") for name, one in action["inputs"].items()}
    inputs |= {"paths": "deploy", **settings}
    monkeypatch.setenv("GITHUB_ACTION_PATH", str(ROOT))
    _, install, audit = action["runs"]["steps"]
    for name, text in audit["env"].items():
        monkeypatch.setenv(name, inputs[text.removeprefix("${{ inputs.").removesuffix(" }}")])
    refused = run([install["run"], audit["run"]])
    assert [one.returncode for one in refused] == [0, 1], refused[-1].stderr
    assert "gpu-idle-command" in refused[-1].stdout
    assert _reported(project)

    baseline = "gpufleet audit deploy --profile prod --write-baseline"
    assert run([baseline])[0].returncode == 0
    monkeypatch.setenv("BASELINE", "gpufleet-baseline.json")
    assert run([audit["run"]])[0].returncode == 0


def test_the_hook_of_pre_commit_runs_as_it_is(project: Path):
    (hook,) = yaml_data((ROOT / ".pre-commit-hooks.yaml").read_text())
    (used,) = yaml_data((FOLDER / "pre-commit-config.yaml").read_text())["repos"]
    assert used["rev"] == f"v{_version()}"
    assert [one["id"] for one in used["hooks"]] == [hook["id"]]
    (project / "deploy" / "fine.yaml").write_text(IDLE.replace("sleep", "python3"))
    refused, fine = (
        run([" ".join([hook["entry"], *hook["args"], f"deploy/{name}"])])[0]
        for name in ("shell.yaml", "fine.yaml")
    )
    assert "gpu-idle-command" in refused.stdout
    assert (refused.returncode, fine.returncode) == (1, 0), fine.stdout
