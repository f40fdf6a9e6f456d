"""`gpufleet audit` in CI: chosen rules and files, thresholds, waivers, reports, own rules."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import jsonschema
import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.audit import command
from gpufleet_policies.fronts.audit.comments import waiver_comments
from gpufleet_policies.rules.registry import by_id, remove_own_rules
from tests.policies.audit.test_command import FINE, IDLE, IDLE_RULE, RAY_JOB, RAY_RULE
from tests.policies.audit.test_sarif import SARIF


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "vendor").mkdir()
    (tmp_path / "deploy" / "shell.yaml").write_text(IDLE)
    (tmp_path / "vendor" / "ray.yaml").write_text(RAY_JOB)
    yield tmp_path
    remove_own_rules()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, [*arguments, "--jobs", "1"])


def document(*arguments: str) -> dict[str, Any]:
    return json.loads(run(*arguments, "--format", "json").stdout)


def rules(*arguments: str) -> list[str]:
    return [finding["code"] for finding in document(*arguments)["findings"]]


def unreadable(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, UnreadableInputError), result.output
    return str(result.exception)


def test_rules_are_chosen_by_patterns(folder: Path):
    assert set(rules(".")) >= {IDLE_RULE, RAY_RULE}
    assert set(rules(".", "--include-rule", "gpu-idle-*")) == {IDLE_RULE}
    assert RAY_RULE not in rules(".", "--exclude-rule", "rayjob-*")
    both = rules(".", "--include-rule", "*", "--exclude-rule", "*idle*", "--exclude-rule", "ray*")
    assert not {IDLE_RULE, RAY_RULE} & set(both)
    text = "there is no rule 'gpu-idle-comand'; did you mean gpu-idle-command"
    assert text in unreadable(".", "--exclude-rule", "gpu-idle-comand")


def test_an_audit_without_any_rule_does_not_pass(folder: Path):
    assert "every rule is off" in unreadable(".", "--exclude-rule", "*")
    (folder / "gpu-policy.yaml").write_text("everythingOff: the move to the new cluster\n")
    assert run(".", "--exclude-rule", "*").exit_code == 0
    (folder / "gpu-policy.yaml").write_text("everythingOff: ''\n")
    assert "everythingOff: is no reason" in unreadable(".")


def test_a_rule_that_is_named_in_full_is_not_off(folder: Path):
    """Without this, the audit of a disabled rule would report success."""
    (folder / "gpu-policy.yaml").write_text(f"rules: {{{IDLE_RULE}: 'off'}}\n")
    assert rules("deploy") == []
    found = document("deploy", "--include-rule", IDLE_RULE)["findings"]
    assert [(one["code"], one["level"]) for one in found] == [(IDLE_RULE, "advisory")]
    assert "every rule is off" in unreadable("deploy", "--include-rule", "gpu-idle-*")


def test_files_are_chosen_by_patterns(folder: Path):
    assert document(".", "--exclude-path", "vendor")["files"] == 1
    assert document(".", "--include-path", "*/ray.yaml")["files"] == 1
    assert document("deploy/shell.yaml", "vendor", "--exclude-path", "deploy/*")["files"] == 1
    text = "--include-path and --exclude-path leave no file to read"
    assert unreadable(".", "--include-path", "nothing") == text


def test_the_threshold_decides_about_the_exit_status(folder: Path):
    arguments = ("deploy", "--include-rule", IDLE_RULE)
    codes = {
        (profile, threshold): run(
            *arguments, "--profile", profile, "--fail-on", threshold
        ).exit_code
        for profile in ("dev", "prod")
        for threshold in ("mandatory", "advisory", "never")
    }
    assert codes == {
        ("dev", "mandatory"): 0,
        ("dev", "advisory"): 1,
        ("dev", "never"): 0,
        ("prod", "mandatory"): 1,
        ("prod", "advisory"): 1,
        ("prod", "never"): 0,
    }


def test_unread_files_can_fail_the_run(folder: Path):
    (folder / "deploy" / "broken.yaml").write_text("a: [1\n")
    assert run("deploy", "--profile", "dev").exit_code == 0
    result = run("deploy", "--profile", "dev", "--fail-on-unread")
    assert isinstance(result.exception, UnreadableInputError)
    assert str(result.exception) == "1 of the files cannot be read: deploy/broken.yaml"
    assert "not read deploy/broken.yaml" in result.output, "the report is printed all the same"


def test_several_reports_are_written_in_one_run(folder: Path):
    result = run(
        "deploy",
        "vendor",
        "--profile",
        "prod",
        "--output",
        "sarif=out.sarif",
        "--output=json=out.json",
        "--output=junit=out.xml",
        "--output=text=out.txt",
        "--format=github",
    )
    assert result.exit_code == 1
    assert result.output.startswith("::error file=deploy/shell.yaml,line=9,")
    jsonschema.Draft7Validator(SARIF).validate(json.loads((folder / "out.sarif").read_text()))
    found = json.loads((folder / "out.json").read_text())
    assert {one["code"] for one in found["findings"]} >= {IDLE_RULE, RAY_RULE}
    assert fromstring((folder / "out.xml").read_text()).get("failures") == "2"
    assert "\x1b" not in (folder / "out.txt").read_text()
    again = run("deploy", "vendor", "--profile=prod", "--format=json").stdout
    assert (folder / "out.json").read_text() == again


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (["sarif"], "'sarif' is not FORMAT=FILE with a format of text, json, sarif"),
        (["xml=a"], "'xml=a' is not FORMAT=FILE"),
        (["json="], "'json=' is not FORMAT=FILE"),
        (["json=a", "sarif=a"], "two reports would be written into a"),
    ],
)
def test_wrong_outputs_are_named(folder: Path, outputs: list[str], said: str):
    result = run("deploy", *[f"--output={one}" for one in outputs])
    assert result.exit_code == 2
    assert said in result.output


def test_outputs_that_cannot_be_written_are_all_named(folder: Path):
    text = unreadable("deploy", "--output=json=no/a", "--output=sarif=no/b")
    assert text.splitlines() == [
        "--output no/a: No such file or directory",
        "--output no/b: No such file or directory",
    ]


SOON = (datetime.now(UTC).date() + timedelta(days=90)).isoformat()
"""A last day that a waiver may have."""
COMMENT = f"# gpufleet:ignore {IDLE_RULE} reason=demo for the board until={SOON}"
PLACES = {
    "after the field": IDLE.replace("infinity]", f"infinity]  {COMMENT}"),
    "above the field": IDLE.replace("      command:", f"      {COMMENT}\n      command:"),
    "above the item": IDLE.replace("    - name: main", f"    {COMMENT}\n    - name: main"),
    "above the block": IDLE.replace("spec:\n", f"{COMMENT}\nspec:\n"),
    "after the block's key": IDLE.replace("  containers:", f"  containers: {COMMENT}"),
    "above the object": f"{COMMENT}\n{IDLE}",
    "of the file": f"{IDLE}---\n{FINE}# gpufleet:ignore-file {IDLE_RULE} x; until={SOON}\n",
    "several rules": IDLE.replace(
        "infinity]", f"infinity]  # gpufleet:ignore {RAY_RULE},{IDLE_RULE} a; until={SOON}"
    ),
    "in quotes": IDLE.replace(
        "infinity]", f"infinity] # gpufleet:ignore {IDLE_RULE} until='{SOON}' reason=\"a b\""
    ),
    "in a template": IDLE.replace("infinity]", f"infinity]  {COMMENT}").replace(
        "name: shell", "name: {{ .name }}"
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_comment_waives_what_it_is_about(folder: Path, place: str):
    (folder / "deploy" / "shell.yaml").write_text(PLACES[place])
    found = document("deploy", "--profile", "prod")
    assert IDLE_RULE not in [one["code"] for one in found["findings"]]
    (waived,) = [one for one in found["waived"] if one["code"] == IDLE_RULE]
    assert waived["waiver"]["kind"] == "comment"
    assert waived["waiver"]["until"] == SOON
    assert waived["waiver"]["reason"]


ELSEWHERE = {
    "another field": IDLE.replace("  namespace: ml", f"  namespace: ml {COMMENT}"),
    "another container": f"{IDLE}    - name: second  {COMMENT}\n      image: x\n",
    "another object": f"{IDLE}---\n{COMMENT}\n{FINE}",
    "before the next object": f"{IDLE}{COMMENT}\n---\n{FINE}",
    "another rule": IDLE.replace("infinity]", f"infinity] {COMMENT}".replace(IDLE_RULE, RAY_RULE)),
    "inside of a text": IDLE.replace(
        "      image: cuda", f"      args:\n        - |\n          {COMMENT}\n      image: cuda"
    ),
    "a quoted text": IDLE.replace("name: shell", f'name: "shell {COMMENT}"'),
}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_comment_about_something_else_waives_nothing(folder: Path, place: str):
    (folder / "deploy" / "shell.yaml").write_text(ELSEWHERE[place])
    assert IDLE_RULE in rules("deploy", "--profile", "prod")


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        (f"gpu-idle-comand x; until={SOON}", "there is no rule 'gpu-idle-comand'"),
        (f"{IDLE_RULE} reason=demo", 'it must read "<reason>; until=YYYY-MM-DD"'),
        (f"{IDLE_RULE} until={SOON}", "it gives no reason"),
        (f"{IDLE_RULE} reason=demo until=soon", "'soon' is not a date; write until=YYYY-MM-DD"),
        (f"{IDLE_RULE} reason=demo until=2020-01-31", "its date 2020-01-31 is past (today is "),
        ("", "it names no rule"),
    ],
)
def test_a_comment_that_does_not_count_is_reported(folder: Path, comment: str, problem: str):
    text = IDLE.replace("infinity]", f"infinity]  # gpufleet:ignore {comment}")
    (folder / "deploy" / "shell.yaml").write_text(text)
    found = document("deploy", "--profile", "prod")["findings"]
    assert IDLE_RULE in [one["code"] for one in found]
    (wrong,) = [one for one in found if one["code"] == "policy-exception-invalid"]
    assert problem in wrong["message"]
    assert (wrong["line"], wrong["object"]) == (11, "Comment deploy/shell.yaml:11")


def test_comments_cost_nothing_where_there_are_none():
    assert waiver_comments("a: 1 # other\n") == []


def test_waived_findings_are_listed_everywhere(folder: Path):
    """By annotation, comment, settings and baseline, in every format."""
    note = f'  annotations: {{gpufleet.dev/ignore-{IDLE_RULE}: "a demo; until={SOON}"}}\n'
    (folder / "a.yaml").write_text(IDLE.replace("  namespace: ml\n", f"  namespace: ml\n{note}"))
    (folder / "b.yaml").write_text(PLACES["after the field"].replace("shell", "b"))
    (folder / "gpu-policy.yaml").write_text(
        f"exceptions: [{{rule: {IDLE_RULE}, object: 'Pod ml/c', reason: r, until: {SOON}}}]\n"
    )
    (folder / "c.yaml").write_text(IDLE.replace("name: shell", "name: c"))
    arguments = ("a.yaml", "b.yaml", "c.yaml", "deploy", "--profile=prod", "--baseline=known.json")
    run("deploy", "--profile=prod", "--write-baseline", "--baseline=known.json")
    found = document(*arguments)
    assert [one for one in found["findings"] if one["level"] == "mandatory"] == []
    kinds = {one["file"]: one["waiver"]["kind"] for one in found["waived"]}
    assert kinds == {
        "a.yaml": "annotation",
        "b.yaml": "comment",
        "c.yaml": "settings",
        "deploy/shell.yaml": "baseline",
    }
    text = run(*arguments).output
    assert "waived a.yaml:10 gpu-idle-command Pod ml/shell: a demo (gpufleet.dev/ignore-" in text
    assert f"demo for the board (comment in line 11, until {SOON})" in text
    assert f"r (exceptions of the policy settings for Pod ml/c, until {SOON})" in text
    assert "; 3 findings waived; 1 finding of the baseline not counted" in text
    sarif = json.loads(run(*arguments, "--format=sarif").stdout)
    jsonschema.Draft7Validator(SARIF).validate(sarif)
    suppressed = [s for r in sarif["runs"][0]["results"] for s in r.get("suppressions", [])]
    assert [one["kind"] for one in suppressed] == ["inSource", "inSource", "external", "external"]
    assert suppressed[1]["justification"].startswith("demo for the board (comment in line 11")
    junit = fromstring(run(*arguments, "--format=junit").stdout)
    skipped = [one.get("message") or "" for one in junit.iter("skipped")]
    assert len([one for one in skipped if one.startswith("waived: ")]) == 4
    assert junit.get("failures") == "0"
    lines = run(*arguments, "--format=github").stdout.splitlines()
    assert len([line for line in lines if line.startswith("::notice ")]) == 4


OWN = """
from gpufleet_policies.own_rules import Level, RuleContext, WorkloadFacts, finding, rule

@rule(
    "team-namespace",
    "A GPU workload outside of the namespace research.",
    subject=WorkloadFacts,
    dev=Level.ADVISORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    source="handbook",
)
def namespace(context: RuleContext, workload: WorkloadFacts):
    if workload.locator.namespace != "research":
        yield finding("", f"is in {workload.locator.namespace}", "only research", "move it")
"""


def test_own_rules_are_applied_like_ours(folder: Path):
    (folder / "rules").mkdir()
    (folder / "rules" / "teams.py").write_text(OWN)
    (folder / "rules" / "_helper.py").write_text("raise SystemExit")
    arguments = ("deploy", "--rules-dir", "rules")
    found = document(*arguments, "--profile", "prod")["findings"]
    (one,) = [one for one in found if one["code"] == "team-namespace"]
    assert (one["level"], one["object"]) == ("mandatory", "Pod ml/shell")
    assert rules(*arguments, "--include-rule", "team-*") == ["team-namespace"]
    (folder / "gpu-policy.yaml").write_text("rules: {team-namespace: 'off'}\n")
    assert "team-namespace" not in rules(*arguments)
    shown = run("--rules-dir", "rules", "--explain", "team-namespace").output
    assert "A GPU workload outside of the namespace research." in shown
    sarif = json.loads(run(*arguments, "--config=/dev/null", "--format=sarif").stdout)
    jsonschema.Draft7Validator(SARIF).validate(sarif)


def test_what_is_wrong_with_own_rules_is_named_all_at_once(folder: Path):
    made = folder / "rules"
    assert unreadable("deploy", "--rules-dir", "rules") == "rules: no such folder of rules"
    made.mkdir()
    assert unreadable("deploy", "--rules-dir", "rules") == "rules: holds no .py file with rules"
    (made / "a.py").write_text("x = (\n")
    (made / "b.py").write_text("import os\nos.nothing\n")
    (made / "c.py").write_text("x = 1\n")
    (made / "d.py").write_text(OWN.replace("team-namespace", "gpu-idle-command"))
    (made / "e.py").write_text(OWN.replace("team-namespace", "Team").replace("handbook", " "))
    (made / "f.py").write_text(OWN)
    (made / "g.py").write_text(OWN)
    assert unreadable("deploy", "--rules-dir", "rules").splitlines() == [
        "rules/a.py:1: '(' was never closed",
        "rules/b.py:2: AttributeError: module 'os' has no attribute 'nothing'",
        "rules/c.py: holds no rule; decorate a function with @rule",
        "rules/d.py: the id 'gpu-idle-command' is that of a rule of gpufleet; choose another",
        "rules/e.py: the id 'Team' is not written like team-rule-name",
        "rules/e.py: rule Team has no source",
        "rules/g.py: the id 'team-namespace' is in rules/f.py too",
    ]
    assert "team-namespace" not in by_id(), "none is added"


def test_the_help_names_formats_exit_codes_and_examples(folder: Path):
    text = " ".join(run("--help-all").output.split())
    for words in (
        "sarif for code scanning",
        "Exits 0 when nothing fails, 1 when",
        "--output sarif=gpufleet.sarif",
    ):
        assert words in text
