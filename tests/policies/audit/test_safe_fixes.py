"""`gpufleet audit --fix`: shown first, limited, validated again, bound to what was read."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet_policies.commands.audit import command
from gpufleet_policies.fronts.audit import fixing
from gpufleet_policies.fronts.audit.fixing import EDITED, MAKES_ERRORS
from tests.policies.audit.test_command import RAY_JOB

DIFFERS = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
    - name: main
      image: cuda
      command: [train]
      resources:
        requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}
        limits: {nvidia.com/gpu: 2}
"""
DIFFERS_RULE = "gpu-request-differs-from-limit"
ENDLESS = """\
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain}
spec:
  backoffLimit: 2
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: cuda
          command: [train]
          resources: {limits: {nvidia.com/gpu: 8, cpu: 8, memory: 64Gi}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "pod.yaml").write_text(DIFFERS)
    (tmp_path / "ray.yaml").write_text(RAY_JOB)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, [*arguments, "--jobs", "1", "--profile", "prod"])


def test_a_diff_is_shown_and_nothing_is_written(folder: Path):
    result = run(".", "--fix", "--diff")
    assert result.exit_code == 1, "nothing is fixed yet"
    lines = result.output.splitlines()
    start = lines.index("--- apps/pod.yaml")
    assert lines[start : start + 2] == ["--- apps/pod.yaml", "+++ apps/pod.yaml"]
    assert "-        requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}" in lines
    assert '+        requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: "2"}' in lines
    assert f"would fix apps/pod.yaml:1 Pod a: {DIFFERS_RULE}" in lines
    assert "validated again: 0 errors and " in lines[-1]
    assert (folder / "apps" / "pod.yaml").read_text() == DIFFERS
    assert (folder / "ray.yaml").read_text() == RAY_JOB
    shown = json.loads(run(".", "--fix", "--diff", "--format", "json").stdout)
    assert shown["written"] is False
    assert "+++ ray.yaml" in shown["diff"].splitlines()


def test_fixes_are_limited_to_rules_and_paths(folder: Path):
    only_rule = run(".", "--fix", "--diff", "--fix-rule", "gpu-request-*").output
    assert DIFFERS_RULE in only_rule
    assert "--- ray.yaml" not in only_rule
    only_path = run(".", "--fix", "--diff", "--fix-path", "ray.yaml").output
    assert "--- ray.yaml" in only_path
    assert "--- apps/pod.yaml" not in only_path
    assert run(".", "--fix", "--fix-path", "apps").exit_code == 1
    assert (folder / "apps" / "pod.yaml").read_text() != DIFFERS
    assert (folder / "ray.yaml").read_text() == RAY_JOB
    assert json.loads(run(".", "--patch", "--fix-rule", "no-such-*").stdout) == []


def test_what_limits_fixes_needs_fixes(folder: Path):
    for options in (["--diff"], ["--fix-rule", "x"], ["--fix-path", "x"]):
        result = run(".", *options)
        assert result.exit_code == 2
        assert " used with --fix " in result.output


def test_no_run_is_shortened(folder: Path):
    (folder / "job.yaml").write_text(ENDLESS)
    (folder / "gpu-policy.yaml").write_text("rules: {gpu-job-without-deadline: mandatory}\n")
    result = run("job.yaml", "--fix")
    assert not [line for line in result.output.splitlines() if line.startswith("fixed")]
    assert "activeDeadlineSeconds" not in (folder / "job.yaml").read_text()
    assert run("job.yaml", "--patch").stdout.strip() == "[]"
    found = json.loads(run("job.yaml", "--format", "json").stdout)["findings"]
    (deadline,) = [one for one in found if one["code"] == "gpu-job-without-deadline"]
    assert deadline["patch"] == []


def test_what_is_written_is_validated_again(folder: Path):
    result = run(".", "--fix")
    assert result.exit_code == 0, "no error remains"
    assert result.output.splitlines()[-1].startswith("validated again: 0 errors and ")
    again = json.loads(run(".", "--format", "json").stdout)["findings"]
    left = [one for one in again if one["level"] == "mandatory"]
    assert left == []


def test_a_fix_that_makes_an_error_is_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch):
    rewritten = fixing.rewritten

    def spoils(text: str, patches: list[fixing.ObjectPatch]) -> object:
        made = rewritten(text, patches)
        made.text = made.text.replace("command: [train]", "command: [sleep, infinity]")
        return made

    monkeypatch.setattr(fixing, "rewritten", spoils)
    result = run(".", "--fix")
    assert f"not fixed apps/pod.yaml:1 Pod a: {DIFFERS_RULE}: {MAKES_ERRORS}: gpu-idle-command" in (
        result.output
    )
    assert (folder / "apps" / "pod.yaml").read_text() == DIFFERS
    assert "fixed ray.yaml:1 RayJob train" in result.output, "other files are still fixed"
    assert "shutdownAfterJobFinishes" in (folder / "ray.yaml").read_text()
    assert result.exit_code == 1


def test_a_file_that_was_edited_after_it_was_read_is_not_overwritten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """The patch names an object by its line: another object can be there by now."""
    other = f"# a new first line\n{DIFFERS}"
    validate = fixing.fixes

    def edited(*arguments: object) -> fixing.Fixes:
        (folder / "apps" / "pod.yaml").write_text(other)
        return validate(*arguments)

    monkeypatch.setattr("gpufleet_policies.commands.audit.fixes", edited)
    result = run(".", "--fix")
    assert f"not fixed apps/pod.yaml:1 Pod a: {DIFFERS_RULE}: {EDITED}" in result.output
    assert (folder / "apps" / "pod.yaml").read_text() == other


def test_a_file_that_is_edited_while_fixes_are_worked_out_is_not_overwritten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    other = f"# a new first line\n{DIFFERS}"
    write = fixing.write

    def edited(*arguments: object) -> None:
        (folder / "apps" / "pod.yaml").write_text(other)
        write(*arguments)

    monkeypatch.setattr("gpufleet_policies.commands.audit.write", edited)
    result = run(".", "--fix")
    assert f"not fixed apps/pod.yaml:1 Pod a: {DIFFERS_RULE}: {EDITED}" in result.output
    assert "remains error apps/pod.yaml" in result.output, "it is counted as it is"
    assert (folder / "apps" / "pod.yaml").read_text() == other
    assert not list((folder / "apps").glob(".*"))


def test_quotes_are_those_a_person_writes(folder: Path):
    quoted = DIFFERS.replace("nvidia.com/gpu: 1}", "nvidia.com/gpu: '1'}")
    (folder / "ray.yaml").write_text(quoted)
    run(".", "--fix")
    assert "nvidia.com/gpu: '2'}" in (folder / "ray.yaml").read_text()


def test_a_link_out_of_the_folder_is_not_followed(folder: Path):
    outside = folder / "outside.yaml"
    outside.write_text(DIFFERS)
    (folder / "apps" / "link.yaml").symlink_to(outside)
    result = run("apps", "--fix")
    assert outside.read_text() == DIFFERS
    found = json.loads(run("apps", "--format", "json").stdout)
    reason = "a link to a file outside the folder; name the file itself to read it"
    assert found["unread"] == [{"file": "apps/link.yaml", "reason": reason}]
    named = run("apps/link.yaml", "--fix")
    assert "is a link that leads out of its folder; name the file itself" in named.output
    assert outside.read_text() == DIFFERS
    assert result.exit_code == 0
