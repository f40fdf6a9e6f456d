"""No command takes "nothing was looked at" for a success: one table over all commands."""

import importlib
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

import gpufleet.cli as program
from gpufleet.cli.output import UnreadableInputError
from gpufleet.components_base.answers import Answers
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from tests.reading import yaml_data

FLEET = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
    "pools": [{"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}}],
}
NO_SERIES = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": []}})
NO_OBJECTS = json.dumps({"apiVersion": "v1", "kind": "List", "items": []})
NO_STATE = json.dumps({"version": 3, "deployment": {"resources": []}})
NO_PLAN = json.dumps({"format_version": "1.2", "planned_values": {"root_module": {}}})
NO_STEPS = json.dumps({"steps": [], "changeSummary": {}, "duration": 1})
OTHER_POOL = json.dumps(
    {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"__name__": "gpu:node:pool", "node": "n", "pool": "other"},
                    "values": [[0, "1"], [60, "1"]],
                }
            ],
        },
    }
)
EVERYTHING_OFF = "everything-off.yaml"

TAKES_A_FILE: dict[str, tuple[str, ...]] = {
    "compile": ("FILE",),
    "explain": ("FILE",),
    "render": ("FILE", "--out", "out"),
    "adopt": ("FILE",),
    "mirror": ("FILE",),
    "preflight": ("FILE",),
    "check": ("FILE",),
    "doctor": ("FILE",),
    "change": ("FILE", "FILE"),
    "calendar": ("FILE",),
    "size": ("FILE",),
    "plan": ("FILE",),
    "pack": ("FILE",),
    "cost": ("FILE", "--spec", "fleet.yaml"),
    "own": ("fleet.yaml", "FILE"),
    "rightsize": ("FILE", "--spec", "fleet.yaml"),
    "audit": ("FILE",),
    "vsphere orphans": ("FILE", "--server", "vc.example", "--datacenter", "DC1"),
    "vsphere inventory": (
        *("FILE", "--server", "vc.example", "--datacenter", "DC1", "--cluster", "gpu"),
    ),
}
"""Command -> arguments, with the file that holds nothing."""

READS_NO_FILE = {
    "partition": "the request is `--want`, which is needed",
    "catalogue": "lists facts; that a GPU has no MIG is an answer",
    "schema": "prints what is built in",
    "policies rules": "prints what is built in",
    "policies explain": "prints what is built in",
    "policies init": "writes files",
    "policies admission": "below: no rule that is on",
}
"""Command -> why no file of it can hold nothing."""


@dataclass(frozen=True)
class Nothing:
    """A call without any validated object, and its text on standard error."""

    arguments: tuple[str, ...]
    says: str
    file: str = ""


OBJECTS = "the file holds no object, values, plan, state or declaration that a rule reads"
CASES = (
    Nothing(
        ("audit", "empty"), "empty: nothing was validated: no .yaml, .yml, .json or .tf file is"
    ),
    Nothing(("audit", "empty", "--require-judged"), "nothing was validated"),
    Nothing(("audit", "empty", "--fail-on", "never"), "nothing was validated"),
    Nothing(("audit", "empty", "--write-baseline"), "nothing was validated"),
    Nothing(("audit", "empty", "--format", "sarif"), "nothing was validated"),
    Nothing(("audit", "empty", "--fix"), "nothing was validated"),
    Nothing(("audit", "empty", "--patch"), "nothing was validated"),
    Nothing(("audit", "FILE"), f"FILE: nothing was validated: {OBJECTS}", NO_OBJECTS),
    Nothing(("audit", "FILE"), f"FILE: nothing was validated: {OBJECTS}", NO_STATE),
    Nothing(("audit", "FILE"), f"FILE: nothing was validated: {OBJECTS}", NO_PLAN),
    Nothing(("audit", "FILE"), f"FILE: nothing was validated: {OBJECTS}", NO_STEPS),
    Nothing(("audit", "FILE"), f"FILE: nothing was validated: {OBJECTS}", "site_name: pages\n"),
    Nothing(("audit", "-"), f"-: nothing was validated: {OBJECTS}"),
    Nothing(("audit", "no-such-folder"), "no-such-folder: No such file or directory"),
    Nothing(("audit", "fleet.yaml", "--config", EVERYTHING_OFF), "every rule is off"),
    Nothing(("audit", ".", "--exclude-path", "*"), "leave no file to read"),
    Nothing(("check", "FILE"), "FILE: no kind is recognised in it", NO_OBJECTS),
    Nothing(("check", "fleet.yaml", "--config", EVERYTHING_OFF), "every rule is off"),
    Nothing(("policies", "admission", "--config", EVERYTHING_OFF), "no rule that a cluster can"),
    Nothing(("doctor", "FILE"), "FILE: no node, pod or workload is in it", NO_OBJECTS),
    Nothing(("doctor", "FILE", "--pod", "a"), "FILE: no node, pod or workload", NO_STATE),
    Nothing(("adopt", "FILE"), "no dump of a cluster, plan, state or values", NO_OBJECTS),
    Nothing(("adopt", "FILE"), "no dump of a cluster, plan, state or values", NO_STATE),
    Nothing(("cost", "FILE", "--spec", "fleet.yaml"), "it has no series gpu:node:pool", NO_SERIES),
    Nothing(
        ("cost", "FILE", "--spec", "fleet.yaml"),
        "FILE: no sample is of a node in a pool of fleet.yaml, so there is no cost to divide",
        OTHER_POOL,
    ),
    Nothing(("rightsize", "FILE", "--spec", "fleet.yaml"), "there is no series DCGM", NO_SERIES),
    Nothing(
        ("change", "fleet.yaml", "fleet.yaml", "--nodes", "FILE"),
        "FILE: no node is in it, so nothing is known about them",
        NO_OBJECTS,
    ),
)


def leaves() -> Iterator[str]:
    """Every command and subcommand. Those of the sandbox are of another distribution."""
    for name, row in program.commands().items():
        command = importlib.import_module(row.module).command
        if name == "sandbox":
            continue
        if isinstance(command, click.Group):
            yield from (f"{name} {one}" for one in command.commands)
        else:
            yield name


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit status and both outputs of the program."""
    monkeypatch.setattr(sys, "argv", ["gpufleet", *arguments])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code = 0
    try:
        program.main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from gpufleet_policies.rules.registry import RULES

    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("fleet.yaml").write_text(yaml.safe_dump(FLEET))
    Path(EVERYTHING_OFF).write_text(yaml.safe_dump({"rules": {one.id: "off" for one in RULES}}))
    return tmp_path


def test_every_command_is_in_the_table() -> None:
    assert sorted(leaves()) == sorted({*TAKES_A_FILE, *READS_NO_FILE})
    assert not set(TAKES_A_FILE) & set(READS_NO_FILE)


@pytest.mark.parametrize("command", sorted(TAKES_A_FILE))
@pytest.mark.parametrize("text", ["", "# only a comment\n", "{}\n", "[]\n"])
def test_a_file_of_nothing_is_no_success(
    command: str,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("FILE").write_text(text)
    code, out, err = run(monkeypatch, capsys, *command.split(), *TAKES_A_FILE[command])
    # A mapping is a declaration without anything: each key that it needs is a finding.
    findings = text == "{}\n" and "\nerror " in f"\n{err}"
    assert code == (1 if findings else 2), (out, err)
    assert err
    assert "Traceback" not in err


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case.arguments))
def test_nothing_is_said_in_one_sentence_with_exit_status_2(
    case: Nothing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("FILE").write_text(case.file)
    code, _, err = run(monkeypatch, capsys, *case.arguments)
    assert code == 2, err
    sentence = err.splitlines()[-1]
    assert sentence.startswith("gpufleet: ")
    assert case.says in sentence
    assert not Path("gpufleet-baseline.json").exists()


@pytest.mark.parametrize("output_format", ["text", "json"])
@pytest.mark.parametrize("platform", [one for one, at in PLATFORMS.items() if at.has("preflight")])
def test_preflight_that_got_no_answer(
    platform: Platform,
    output_format: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Silent:
        """A cloud that responds to no query."""

        @staticmethod
        def ask(*_: object) -> Answers:
            answers = Answers()
            answers.could_not_check("cluster.name", "cluster ml", "no credentials", "credentials")
            return answers

    asked: list[Platform] = []
    monkeypatch.setattr(
        "gpufleet.cli.preflight.platform_preflight", lambda one: asked.append(one.name) or Silent
    )
    spec = {**FLEET, "platform": platform.value}
    if platform in (Platform.GKE, Platform.OPENSHIFT_GCP):
        spec["cluster"] = {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.35"}
    elif platform is Platform.OPENSHIFT_AWS:
        spec["cluster"] = {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.35"}
    if "openshift" in platform.value.lower():
        zone = "us-east-1a" if platform is Platform.OPENSHIFT_AWS else "us-central1-a"
        spec["pools"] = [{**FLEET["pools"][0], "zones": [zone]}]
    Path("fleet.yaml").write_text(yaml.safe_dump(spec))
    code, out, err = run(monkeypatch, capsys, "preflight", "fleet.yaml", "--format", output_format)
    assert (code, asked) == (2, [platform]), (out, err)
    assert err.splitlines()[-1] == (
        "gpufleet: fleet.yaml: no question got an answer, so nothing is known about the fleet; "
        "what each needs is the fix of its finding"
    )
    assert "nothing blocks it" not in out
    if output_format == "json":
        assert [one["code"] for one in json.loads(out)["findings"]] == ["could-not-check"]
        assert json.loads(out)["asked"] == []


def test_an_inventory_without_a_host(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = "gpufleet_vcenter.inventory_report.ask_inventory"
    monkeypatch.setattr(report, lambda *_: {"hosts": [], "pools": []})
    where = ("--server", "vc.example", "--datacenter", "DC1", "--cluster", "gpu")
    code, _, err = run(monkeypatch, capsys, "vsphere", "inventory", *where)
    assert (code, err) == (2, "gpufleet: gpu has no host, so nothing is known about GPUs\n")


def test_names_of_machines_that_are_too_long_end_an_inventory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = {"name": "chat", "gpu": "A100-80GB", "nodes": {"min": 2, "max": 2}}
    machine = {"cpus": 8, "memoryGib": 64, "template": "t"}
    spec = {"catalogue": "2026.11", "platform": "vsphere", "cluster": {"name": "lab"}}
    Path("fleet.yaml").write_text(yaml.safe_dump({**spec, "pools": [{**pool, "vsphere": machine}]}))
    where = ("--server", "vc.example", "--datacenter", "DC1", "--cluster", "gpu")
    named = ("fleet.yaml", "--name-prefix", "a" * 57, *where)
    code, _, err = run(monkeypatch, capsys, "vsphere", "inventory", *named)
    assert code == 2
    assert err == (
        f"gpufleet: '{'a' * 57}-chat-0' has 64 characters, and a machine's name at most 63: "
        "shorten namePrefix or the pool's name by 1\n"
    )


def test_what_holds_nothing_about_gpus_was_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    bucket = {"address": "aws_s3_bucket.a", "mode": "managed", "type": "aws_s3_bucket"}
    plan = {
        "format_version": "1.2",
        "planned_values": {"root_module": {"resources": [{**bucket, "values": {}}]}},
    }
    for document in (service, plan):
        Path("FILE").write_text(json.dumps(document))
        code, _, err = run(monkeypatch, capsys, "audit", "FILE")
        assert (code, err) == (0, "")


def test_hooks_may_name_files_that_hold_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mkdocs.yml").write_text("site_name: pages\n")
    code, _, err = run(monkeypatch, capsys, "audit", "mkdocs.yml", "--allow-nothing")
    assert (code, err) == (0, "")
    hooks = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"
    (hook,) = yaml_data(hooks.read_text())
    assert hook["entry"] == "gpufleet audit --allow-nothing", (
        "pre-commit names all YAML that changed"
    )


@pytest.mark.parametrize("chart", ["gpu-operator", "karpenter", "dcgm-exporter", "vllm-stack"])
@pytest.mark.parametrize("key", ["kind: A", "a: {b: 1}", "apiVersion: v1"])
def test_values_of_which_nothing_is_read_are_no_success(
    chart: str, key: str, tmp_path: Path
) -> None:
    """Keys that no release of the chart has: the file is of another chart, or misspelt."""
    file = tmp_path / f"{chart}-values.yaml"
    file.write_text(f"{key}\n", encoding="utf-8")
    audit = importlib.import_module(program.commands()["audit"].module).command
    done = CliRunner().invoke(audit, [str(file)])
    assert isinstance(done.exception, UnreadableInputError)
