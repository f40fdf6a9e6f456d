"""`gpufleet doctor` as a person calls it: sources, output, exit status, what never leaves."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet.documents.reading import UnreadableDocumentError
from gpufleet_policies.commands.doctor import command
from gpufleet_policies.doctor.diagnosis import CAUSES
from gpufleet_policies.doctor.dump import KINDS, collect_command, documents
from gpufleet_policies.doctor.report import LINES
from tests.policies.doctor.clusters import World
from tests.policies.doctor.steps import broken
from tests.policies.doctor.test_faults import FAULTS
from tools.rule_pages import causes

ROOT = Path(__file__).parents[3]
TUTORIAL = ROOT / "docs" / "tutorials" / "why-does-this-pod-wait.md"
PAGE = ROOT / "docs" / "doctor-causes.md"


def run(*arguments: str, dump: str | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=dump)


def text_of(world: World) -> str:
    return json.dumps({"kind": "List", "items": world.dump()})


@pytest.fixture
def example(tmp_path: Path) -> str:
    """The dump of the tutorial."""
    (found,) = re.findall(r"^```yaml\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "example.yaml").write_text(found)
    return str(tmp_path / "example.yaml")


def test_the_worst_comes_first_in_ten_lines(example: str) -> None:
    lines = run(example).output.splitlines()
    assert len(lines) == LINES
    assert [line.split(":")[0] for line in lines[1:9:2]] == ["error", "error", "warning", "warning"]


def test_the_page_of_causes_is_written_from_their_rows() -> None:
    assert PAGE.read_text() == causes(), "run make generate"
    assert len(CAUSES) == len({cause.code for cause in CAUSES})
    assert len(CAUSES) >= 40


@pytest.mark.parametrize("cause", CAUSES, ids=lambda one: one.code)
def test_a_cause_has_a_public_report_or_source(cause: Any) -> None:
    assert cause.reports
    assert all(cause.texts[key] for key in ("message", "fix", "chain"))
    assert all(re.match(r"https://|[\w.-]+/[\w.-]+", report) for report in cause.reports)


@pytest.mark.parametrize(
    ("dump", "said"),
    [
        ('{"kind": "List", "items": []}', "no node, pod or workload"),
        ('{"kind": "ConfigMap", "metadata": {"name": "x"}}', "no node, pod or workload"),
        ("", "no node, pod or workload"),
        ('{"kind": "List", "items": [', "not valid JSON"),
        ("a: [", "line 2"),
    ],
)
def test_nothing_looked_at_is_an_error(dump: str, said: str) -> None:
    problem = run("-", dump=dump).exception
    assert isinstance(problem, UnreadableInputError)
    assert said in str(problem)


def test_a_call_without_a_dump_is_a_usage_error() -> None:
    assert run().exit_code == 2
    assert run("x", "--live").exit_code == 2
    assert "--live only" in run("x", "--context", "y").output


def test_what_is_collected_has_no_secrets() -> None:
    line = run("--collect").output
    assert line.strip() == collect_command()
    assert not [kind for kind in KINDS if kind.startswith(("secrets", "configmaps"))]
    assert " configmaps/-ngpu-operator" in line
    assert "configmaps/-A" not in line
    assert re.findall(r"kubectl (\w+)", line) == ["get"]


def test_what_a_user_may_not_read_does_not_end_the_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = json.dumps({"kind": "Node", "metadata": {"name": "a"}})
    program = tmp_path / "kubectl"
    no = 'Error from server (Forbidden): pods is forbidden: User "x" cannot list resource "pods"'
    others = f"case $2 in pods) echo '{no}' >&2;; *) echo no such kind >&2;; esac; exit 1"
    program.write_text(f"#!/bin/sh\n[ $2 = nodes ] || {{ {others}; }}\necho '{node}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    collected = subprocess.run(["sh", "-c", collect_command()], cwd=tmp_path, check=True)
    assert collected.returncode == 0
    result = run(str(tmp_path / "dump.json"))
    assert "1 node with" in result.stdout
    assert result.stderr.splitlines() == ["gpufleet: not read: pods/-A: the user may not list it"]
    report = json.loads(run(str(tmp_path / "dump.json"), "--format", "json").stdout)
    assert report["unread"] == ["pods/-A: the user may not list it"]


def test_lists_in_a_row_and_one_list_give_the_same() -> None:
    items = World("whole").dump()
    one = run("-", "--format", "json", dump=json.dumps({"kind": "List", "items": items}))
    row = run("-", "--format", "json", dump="\n".join(json.dumps(item) for item in items))
    text = run("-", "--format", "json", dump=yaml.safe_dump_all(json.loads(json.dumps(items))))
    assert one.exit_code == 0
    assert one.output == row.output == text.output


def test_json_has_the_evidence_and_the_proof(example: str) -> None:
    report = json.loads(run(example, "--format", "json").output)
    assert report["lookedAt"]["nodes"] == 3
    (xid, *_) = report["findings"]
    assert xid["code"] == "gpu-xid"
    assert xid["evidence"]["evidence"] == [
        {
            "object": "Node/gpu-b",
            "field": "status.conditions[SysLogsXIDError]",
            "value": "True (SysLogsXIDErrorIsNotHealthy)",
        }
    ]
    chat = next(one for one in report["pending"] if one["pod"] == "Pod/ml/chat")
    (taint,) = (one for one in chat["nodes"] if one["filter"] == "TaintToleration")
    assert taint["count"] == len(taint["nodes"])


def test_a_pod_that_does_not_wait_is_said(example: str) -> None:
    for name, said in (("ml/debug", "does not wait: Running, on gpu-a"), ("ml/x", "no pod ml/x")):
        problem = run(example, "--pod", name).exception
        assert isinstance(problem, UnreadableInputError)
        assert said in str(problem)


PLANTED = (
    "hf_planted0Planted0Planted0Planted0",
    "ghp_planted0Planted0Planted0Planted0pl",
    "hunter2-is-the-password",
)


def plant(value: Any) -> Any:
    """Tokens in every annotation, message, variable and argument of a dump."""
    if isinstance(value, dict):
        grown = {key: plant(one) for key, one in value.items()}
        if "metadata" in grown and isinstance(grown["metadata"], dict):
            notes = grown["metadata"].setdefault("annotations", {})
            notes |= {"example.com/token": PLANTED[0], "note": PLANTED[2]}
        if "image" in grown:
            grown["env"] = [{"name": "TOKEN", "value": PLANTED[1]}]
            grown["command"] = [f"--api-key={PLANTED[1]}", PLANTED[2], *grown.get("command", [])]
        if isinstance(grown.get("message"), str):
            grown["message"] += f" token={PLANTED[0]} and {PLANTED[2]}"
        return grown
    return [plant(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one["fault"])
def test_no_planted_token_leaves(fault: dict[str, Any], tmp_path: Path) -> None:
    world = broken(fault["in"], fault["do"])
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"k": PLANTED[2]}}
    dump = json.dumps({"kind": "List", "items": [plant(one) for one in world.dump()] + [secret]})
    page = tmp_path / "page.html"
    full = run("-", "--all", "--html", str(page), dump=dump)
    report = run("-", "--format", "json", dump=dump)
    said = full.output + full.stderr + report.output + page.read_text()
    assert [token for token in PLANTED if token in said] == []
    assert json.loads(report.output)["findings"]


NAMES = ("gpu-0", "gpu-1", "ml", "train", "registry.example.com", "10.2.3.4")


@pytest.mark.parametrize(
    "fault", [one for one in FAULTS if one["in"] in {"whole", "queued"}], ids=lambda f: f["fault"]
)
def test_masked_reports_have_no_names(fault: dict[str, Any]) -> None:
    dump = text_of(broken(fault["in"], fault["do"]))
    masked = run("-", "--format", "json", "--mask", dump=dump).output
    plain = json.loads(run("-", "--format", "json", dump=dump).output)
    shown = json.loads(masked)
    assert [one["code"] for one in shown["findings"]] == [one["code"] for one in plain["findings"]]
    words = set(re.findall(r"[\w.-]+", re.sub(r"https://[^\s\"]+|docs/[^\s\"]+", "", masked)))
    assert words & set(NAMES) == set()


@pytest.mark.parametrize("odd", [[], {}, "", 0])
@pytest.mark.parametrize("place", ["kind", "name", "effect", "resource"])
def test_a_dump_with_values_of_other_types_is_read(place: str, odd: Any) -> None:
    """Edited dumps: what has no kind or name is left out, and the rest is looked at."""
    other: dict[str, Any] = {"kind": "Node", "metadata": {"name": "b"}, "spec": {}, "status": {}}
    claim: dict[str, Any] = {"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "ml"}}
    claim["status"] = {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "gone"}]}
    holder = {"kind": other, "name": other["metadata"], "effect": {"key": "gpu"}}
    holder["resource"] = claim["status"]["reservedFor"][0]
    holder[place][place] = odd
    other["spec"]["taints"] = [holder["effect"]]
    waiting = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}
    limits = {"limits": {"nvidia.com/gpu": 1}}
    spec = {"containers": [{"name": "c", "resources": limits}]}
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "ml"}, "spec": spec}
    node = {"kind": "Node", "metadata": {"name": "a"}, "status": {}}
    items = [node, other, claim, {**pod, "status": waiting}]
    result = run("-", "--format", "json", dump=json.dumps({"kind": "List", "items": items}))
    assert isinstance(result.exception, SystemExit | None)
    assert json.loads(result.output)["lookedAt"]["nodes"] == (1 if place in ("kind", "name") else 2)


def test_yaml_in_one_line_is_no_json():
    flow = "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}\n"
    assert [one["metadata"]["name"] for one in documents(flow)] == ["a", "b"]
    assert list(documents('[{"kind": "Node"}]')) == [[{"kind": "Node"}]]
    with pytest.raises(UnreadableDocumentError, match="not valid JSON"):
        list(documents('{"kind": "Node"'))
