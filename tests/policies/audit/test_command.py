"""`gpufleet audit` as a person and a pipeline use it."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.audit import command
from gpufleet_policies.commands.check import command as check
from tests.reading import yaml_data

IDLE = """\
# a shell someone forgot
apiVersion: v1
kind: Pod
metadata:
  name: shell
  namespace: ml
spec:
  containers:
    - name: main
      image: cuda
      command: [sleep, infinity]
      resources:
        requests: {cpu: 1, memory: 1Gi}
        limits:
          nvidia.com/gpu: 1  # the only one
"""
RAY_JOB = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train}
spec:
  activeDeadlineSeconds: 60
  rayClusterSpec:
    workerGroupSpecs:
      - groupName: gpu
        replicas: 1
        template:
          spec:
            containers:
              - name: worker
                resources: {limits: {nvidia.com/gpu: 1, cpu: 4, memory: 8Gi}}
"""
FINE = IDLE.replace("[sleep, infinity]", "[train]")
SOON = (datetime.now(UTC).date() + timedelta(days=90)).isoformat()
IDLE_RULE = "gpu-idle-command"
RAY_RULE = "rayjob-cluster-outlives-job"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "shell.yaml").write_text(IDLE)
    (tmp_path / "deploy" / "train.yml").write_text(f"{FINE}---\n{RAY_JOB}")
    return tmp_path


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(command, [*arguments, "--jobs", "1"], input=text)


def found(*arguments: str, text: str | None = None) -> list[dict[str, Any]]:
    result = run(*arguments, "--format", "json", text=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return json.loads(result.stdout)["findings"]


def rules(*arguments: str, text: str | None = None) -> list[str]:
    return [finding["code"] for finding in found(*arguments, text=text)]


def unreadable(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, UnreadableInputError), result.output
    return str(result.exception)


def test_findings_stand_by_file_with_line_money_and_way_out(folder: Path):
    result = run("deploy", "--profile", "prod")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0] == "deploy/shell.yaml"
    assert lines[1].split()[:3] == ["9", "error", IDLE_RULE]
    assert "instead: run the work itself" in result.output
    assert "730 GPU-hours per month" in " ".join(result.output.split())
    assert 'gpufleet.dev/ignore-<rule>: "<reason>; until=YYYY-MM-DD"' in result.output
    assert lines[-1].startswith("2 errors, ")
    assert lines[-1].endswith(" in 3 objects of 2 files")


def test_only_mandatory_findings_fail(folder: Path):
    assert run("deploy/shell.yaml", "--profile", "dev").exit_code == 0
    assert run("deploy/shell.yaml", "--profile", "prod").exit_code == 1
    (folder / "fine.yaml").write_text(FINE)
    result = run("fine.yaml")
    assert result.exit_code == 0
    assert result.output == "no errors, no warnings in 1 object of 1 file\n"


def test_the_line_is_that_of_the_field(folder: Path):
    (folder / "many.yaml").write_text(f"{FINE}---\n\n{RAY_JOB}")
    (ray,) = [f for f in found("many.yaml") if f["code"] == RAY_RULE]
    assert (ray["file"], ray["line"], ray["object"]) == ("many.yaml", 21, "RayJob train")
    differs = IDLE.replace("memory: 1Gi}", "memory: 1Gi, nvidia.com/gpu: 2}")
    (folder / "differs.yaml").write_text(differs)
    lines = {f["code"]: f["line"] for f in found("differs.yaml")}
    assert lines["gpu-request-differs-from-limit"] == 13


def test_lists_dumps_and_standard_input(folder: Path):
    dump = {"apiVersion": "v1", "kind": "List", "items": [yaml_data(IDLE)]}
    assert rules("-", text=json.dumps(dump)) == [IDLE_RULE]
    assert rules("-", text=IDLE) == [IDLE_RULE]
    (folder / "dump.json").write_text(json.dumps(dump, indent=1))
    (finding,) = found("dump.json")
    assert '"name": "main"' in (folder / "dump.json").read_text().splitlines()[finding["line"]]


def test_templates_of_charts_are_read_as_far_as_they_go(folder: Path):
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shell\nversion: 1.0.0\n")
    template = IDLE.replace("name: shell", 'name: {{ include "n" . }}').replace(
        "nvidia.com/gpu: 1", "nvidia.com/gpu: {{ .Values.gpus }}"
    )
    body = "{{- if .Values.on }}\n" + template + "{{- end }}\n"
    (chart / "templates" / "pod.yaml").write_text(body)
    result = run("chart", "--profile", "prod")
    assert IDLE_RULE in result.output
    assert "render it first for a full verdict: helm template . | gpufleet audit -" in result.output
    (chart / "templates" / "pod.yaml").write_text(
        "{{ range .Values.all }}\n- a\n b: {{ . }}\n: {{ end }}"
    )
    assert "not read chart/templates/pod.yaml" in run("chart").output
    assert "chart: nothing was validated" in unreadable("chart")


def test_folders_are_searched_in_order_and_not_everywhere(folder: Path):
    for place in (".git", "node_modules/x", "venv", "deploy/.hidden"):
        (folder / place).mkdir(parents=True)
        (folder / place / "x.yaml").write_text(IDLE)
    (folder / "deploy" / "notes.txt").write_text(IDLE)
    (folder / "deploy" / "again").symlink_to(folder / "deploy")
    result = run(".", "deploy/shell.yaml", "--format", "json")
    assert json.loads(result.stdout)["files"] == 2
    assert rules("deploy/notes.txt") == [IDLE_RULE], "a file that is named may have any ending"


def test_a_named_file_must_be_readable_one_below_a_folder_need_not(folder: Path):
    (folder / "deploy" / "broken.yaml").write_text("a: [1\n")
    assert unreadable("nowhere.yaml") == "nowhere.yaml: No such file or directory"
    assert unreadable("deploy/broken.yaml").startswith("deploy/broken.yaml: line 2")
    result = run("deploy", "--profile", "dev", "--format", "json")
    assert [u["file"] for u in json.loads(result.stdout)["unread"]] == ["deploy/broken.yaml"]
    (folder / "half.yaml").write_text(f"{IDLE}---\na: [1\n")
    result = run("half.yaml", "--profile", "prod")
    assert result.exit_code == 1, "what could be read is validated"
    assert IDLE_RULE in result.output
    assert "not read half.yaml" in result.output


def test_settings_of_the_folder_and_named_ones(folder: Path):
    (folder / "gpu-policy.yaml").write_text(f"rules: {{{IDLE_RULE}: 'off'}}\n")
    assert rules("deploy/shell.yaml") == []
    (folder / "other.yaml").write_text("profile: strict\n")
    assert rules("deploy/shell.yaml", "--config", "other.yaml") == [IDLE_RULE]
    assert run("deploy/shell.yaml", "--config", "other.yaml").exit_code == 1
    assert run("deploy/shell.yaml", "--config", "other.yaml", "--profile", "dev").exit_code == 0
    (folder / "other.yaml").write_text("rules: {gpu-idle-comand: 'off'}\n")
    assert "write `gpu-idle-command`" in unreadable("deploy", "--config", "other.yaml")
    (folder / "other.yaml").write_text("[")
    assert unreadable("deploy", "--config", "other.yaml").startswith("other.yaml: ")
    assert "No such file" in unreadable("deploy", "--config", "missing.yaml")


def test_the_fleet_of_the_settings_is_the_one_workloads_run_on(folder: Path):
    from tests.policies.objects import SPEC

    (folder / "fleet.json").write_text(json.dumps(SPEC))
    (folder / "gpu-policy.yaml").write_text("fleet: fleet.json\n")
    (folder / "big.yaml").write_text(FINE.replace("nvidia.com/gpu: 1", "nvidia.com/mig-7g.80gb: 1"))
    assert "gpu-resource-not-offered" in rules("big.yaml")
    (folder / "gpu-policy.yaml").unlink()
    assert "gpu-resource-not-offered" not in rules("big.yaml")
    assert "gpu-resource-not-offered" in rules("big.yaml", "fleet.json")


def test_the_cluster_of_a_declaration_says_what_its_objects_may_hold(folder: Path):
    from tests.policies.objects import SPEC

    newer = FINE.replace("resources:", "restartPolicyRules: []\n      resources:", 1)
    (folder / "newer.yaml").write_text(newer)
    assert "object-field-too-new" not in rules("newer.yaml")
    for version, is_found in (("1.33", True), ("1.36", False)):
        cluster = {**SPEC["cluster"], "kubernetesVersion": version}
        (folder / "fleet.json").write_text(json.dumps({**SPEC, "cluster": cluster}))
        assert ("object-field-too-new" in rules("newer.yaml", "fleet.json")) == is_found
        (folder / "gpu-policy.yaml").write_text("fleet: fleet.json\n")
        assert ("object-field-too-new" in rules("newer.yaml")) == is_found
        (folder / "gpu-policy.yaml").unlink()


def test_an_annotation_with_reason_and_day_silences(folder: Path):
    def annotated(text: str) -> str:
        note = f'  annotations: {{gpufleet.dev/ignore-{IDLE_RULE}: "{text}"}}\n'
        return IDLE.replace("  namespace: ml\n", f"  namespace: ml\n{note}")

    assert rules("-", text=annotated(f"a demo; until={SOON}")) == []
    assert rules("-", text=annotated("a demo; until=2020-01-01")) == [
        "policy-exception-invalid",
        IDLE_RULE,
    ]


def test_known_findings_do_not_fail_and_new_ones_do(folder: Path):
    strict = ("--profile", "prod", "--baseline", "known.json")
    assert run("deploy", *strict, "--write-baseline").exit_code == 0
    written = (folder / "known.json").read_text()
    result = run("deploy", *strict)
    assert result.exit_code == 0
    assert "of the baseline not counted" in result.output
    # Comments, order and place of the file do not make a finding a new one.
    (folder / "deploy" / "moved.yaml").write_text("\n# moved\n" + IDLE)
    (folder / "deploy" / "shell.yaml").unlink()
    assert run("deploy", *strict).exit_code == 0
    (folder / "deploy" / "second.yaml").write_text(IDLE)
    assert run("deploy", *strict).exit_code == 1, "once more is new"
    run("deploy/train.yml", "deploy/moved.yaml", *strict, "--write-baseline")
    assert json.loads((folder / "known.json").read_text())["version"] == 1
    assert len(written.splitlines()) > 5, "one line for each field: reviews show what changed"
    (folder / "known.json").write_text("{}")
    assert "no baseline of version 1" in unreadable("deploy", "--baseline", "known.json")
    result = run("deploy", "--profile", "prod", "--baseline", "none.json")
    assert result.exit_code == 1
    assert "no baseline none.json, so every finding counts" in result.stderr


def test_patches_are_those_of_rfc_6902(folder: Path):
    result = run("deploy", "--patch")
    (patch,) = json.loads(result.stdout)
    assert (patch["file"], patch["object"]) == ("deploy/train.yml", "RayJob train")
    assert {"op": "add", "path": "/spec/shutdownAfterJobFinishes", "value": True} in patch["patch"]


def test_fix_changes_lines_and_keeps_comments(folder: Path):
    path = folder / "deploy" / "train.yml"
    before = path.read_text()
    result = run("deploy", "--fix")
    assert "fixed deploy/train.yml:17 RayJob train: rayjob-cluster-outlives-job" in result.output
    after = path.read_text()
    kept = after.replace("  shutdownAfterJobFinishes: true\n", "")
    assert kept.replace("  ttlSecondsAfterFinished: 300\n", "") == before
    assert RAY_RULE not in rules("deploy")
    assert path.read_text() == after
    assert "fixed" not in run("deploy", "--fix").output.replace("not fixed", "")


def test_explain_says_what_a_rule_means(folder: Path):
    result = run("--explain", IDLE_RULE)
    assert result.exit_code == 0
    for words in ("holds a GPU and only waits", "Money: waste = ", "Source: ", "Bad (", "`+`"):
        assert words in result.output
    assert "did you mean gpu-idle-command" in unreadable("--explain", "gpu-idle-comand")
    assert json.loads(run("--explain", IDLE_RULE, "--format", "json").stdout)["admission"] is True


def test_wrong_usage_is_said(folder: Path):
    assert run().exit_code == 2
    assert run("deploy", "--patch", "--fix").exit_code == 2
    assert run("deploy", "--format", "xml").exit_code == 2


def test_junit_has_a_failure_for_each_mandatory_finding(folder: Path):
    root = fromstring(run("deploy", "--profile", "prod", "--format", "junit").stdout)
    assert root.get("failures") == "2"
    failures = {failure.get("type"): failure.text or "" for failure in root.iter("failure")}
    assert set(failures) == {IDLE_RULE, RAY_RULE}
    assert failures[IDLE_RULE].startswith("deploy/shell.yaml:9: [gpu-idle-command] Pod ml/shell")
    (folder / "odd.yaml").write_text(IDLE.replace("name: main", 'name: "\\x01<&\\uFFFF"'))
    fromstring(run("odd.yaml", "--format", "junit").stdout)


def test_nothing_looked_at_is_no_success_for_programs(folder: Path):
    (folder / "other").mkdir()
    (folder / "other" / "compose.yaml").write_text("services: {a: {image: b}}")
    junit = run("other", "--format", "junit")
    assert isinstance(junit.exception, UnreadableInputError)
    (case,) = fromstring(junit.stdout).iter("testcase")
    assert [one.tag for one in case] == ["skipped"]
    sarif = json.loads(run("other", "--format", "sarif").stdout)
    assert sarif["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_annotations_of_github_name_file_and_line(folder: Path):
    lines = run("deploy", "--profile", "prod", "--format", "github").stdout.splitlines()
    assert lines[0].startswith(
        "::error file=deploy/shell.yaml,line=9,title=gpu-idle-command::[gpu-idle-command] Pod"
    )
    (folder / "a,b:c%.yaml").write_text(IDLE.replace("name: main", 'name: "x\\n::error::y"'))
    (line,) = run("a,b:c%.yaml", "--profile", "prod", "--format", "github").stdout.splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.yaml,line=9,")
    assert "container x ::error::y" in line


@pytest.mark.nightly
def test_every_number_of_processes_says_the_same(tmp_path: Path):
    """With each commit `test_processes.py` compares all formats, in one process for its start."""
    from benchmarks.public_manifests import write_manifests

    write_manifests(tmp_path, 90)

    def output(jobs: int) -> bytes:
        done = subprocess.run(
            [sys.executable, "-m", "gpufleet.cli", "audit", ".", f"--jobs={jobs}", "--format=json"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": str(jobs)},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert done.stderr == b""
        return done.stdout

    alone = output(1)
    assert len(json.loads(alone)["findings"]) > 50
    assert output(3) == alone


def test_one_document_with_a_context_is_the_verdict_of_check(tmp_path: Path) -> None:
    file = tmp_path / "mig.yaml"
    file.write_text(
        "version: v1\nmig-configs:\n  all: [{devices: all, mig-enabled: true, "
        'mig-devices: {"1g.10gb": 8}}]\n'
    )
    for place in (["--gpu", "A100-80GB"], ["--as", "mig-parted", "--gpu", "A100-80GB"]):
        asked = CliRunner().invoke(command, [str(file), *place])
        checked = CliRunner().invoke(check, [str(file), *place])
        assert asked.exit_code == checked.exit_code == 1
        assert asked.output == checked.output
        assert "mig-layout-impossible" in asked.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [(["a", "b", "--gpu", "L4"], "name one"), (["a", "--gpu", "L4", "--fix"], "text or json only")],
)
def test_a_verdict_is_on_one_document(arguments: list[str], text: str) -> None:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert text in done.output
