"""A declaration that does not compile gives the errors of `gpufleet compile` in audit and check."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.cli.compile import command as compile_command
from gpufleet_policies.commands.audit import command as audit
from gpufleet_policies.commands.check import command as check
from gpufleet_policies.fronts.referenced_fleet import UnreadableFleetError, referenced_fleet
from tests.exit_status import exit_status
from tests.reading import yaml_data

FLEET = """\
catalogue: "2026.11"
platform: eks
environment: prod
cluster: {name: ml, region: us-east-1, kubernetesVersion: "1.35"}
pools:
  - name: big
    instanceTypes: [p5.48xlarge]
    nodes: {min: 4, max: 8}
    intent: interactive
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llama, namespace: ml}
spec:
  replicas: 1
  selector: {matchLabels: {app: llama}}
  template:
    metadata: {labels: {app: llama}}
    spec:
      containers:
        - name: main
          image: registry.example/app:1
          resources: {limits: {nvidia.com/gpu: 1, cpu: 4, memory: 16Gi}}
"""
MISTAKES = {
    "key that does not exist": ("max: 8}", "max: 8, gpus: 8}", "pools[0].nodes.gpus", 8),
    "smallest size above the largest": ("max: 8}", "max: 2}", "pools[0].nodes", 8),
    "edition without quotes": ('"2026.11"', "2026.11", "catalogue", 1),
    "no region": ("region: us-east-1, ", "", "cluster.region", 4),
    "upper-case name": ("name: big", "name: Big", "pools[0].name", 6),
    "platform without quotes of YAML": ("platform: eks", "platform: EKS", "platform", 2),
    "key of the top misspelt": ("platform:", "plattform:", "platform", 0),
    "pools as a mapping": ("pools:\n  - name", "pools:\n    name", "pools", 5),
}
"""Mistake -> what is replaced, by what, path of the error, its line; 0: that of the declaration."""


def run(command: Any, *arguments: object) -> tuple[int, Any]:
    result = CliRunner().invoke(command, [*map(str, arguments), "--format", "json"])
    return exit_status(result), json.loads(result.stdout) if result.stdout else str(
        result.exception
    )


def in_stack_file(text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"config:\n  aws:region: us-east-1\n  gpufleet:fleet:\n{lines}"


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("profile", ["dev", "prod", "strict"])
@pytest.mark.parametrize("stack", [False, True], ids=["file", "stack-file"])
def test_errors_of_a_declaration_are_findings(
    mistake: str, profile: str, stack: bool, tmp_path: Path
):
    old, new, path, line = MISTAKES[mistake]
    assert FLEET.count(old) == 1
    text = FLEET.replace(old, new)
    file = tmp_path / "fleet.yaml"
    file.write_text(in_stack_file(text) if stack else text)
    code, compiled = run(compile_command, file)
    wanted = {
        (one["code"], one["path"], one["message"])
        for one in compiled["findings"]
        if one["severity"] == "error"
    }
    assert code == 1
    assert path in {place for _, place, _ in wanted}

    code, found = run(audit, file, "--profile", profile)
    errors = [one for one in found["findings"] if one["level"] == "mandatory"]
    assert code == 1
    assert {(one["code"], one["where"], one["message"]) for one in errors} == wanted
    lines = {one["where"]: one["line"] for one in errors}
    assert lines[path] == (3 + line if stack else max(line, 1))
    assert found["notJudged"] == []

    code, checked = run(check, file)
    assert (code, checked["verdict"]) == (1, "reject")
    said = {(f["code"], f["path"], f["message"]) for f in checked["findings"]}
    assert wanted <= said


def test_what_compiles_is_judged_by_the_rules(tmp_path: Path):
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(in_stack_file(FLEET))
    _, found = run(audit, file, "--profile", "prod")
    large = next(f for f in found["findings"] if f["code"] == "interactive-pool-holds-large-nodes")
    assert large["line"] == 3 + 8


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_workloads_say_that_their_fleet_is_not_known(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gpufleet_policies.fronts.audit.run.FILES_PER_PROCESS", 1)
    broken, good = FLEET.replace("max: 8}", "max: 2}"), FLEET
    fleet, work = tmp_path / "fleet.yaml", tmp_path / "work.yaml"
    idle = WORKLOAD.replace("nvidia.com/gpu: 1, ", "").replace("llama", "web")
    work.write_text(f"{WORKLOAD}---\n{idle}")
    fleet.write_text(broken)
    code, found = run(audit, tmp_path, "--jobs", jobs)
    assert code == 1
    assert found["notJudged"] == [
        {
            "file": str(work),
            "line": 1,
            "object": "Deployment ml/llama",
            "what": "fleet",
            "reason": f"its fleet is not known: GpuFleet {fleet} does not compile, so no rule "
            "compares their pools",
        }
    ]
    (tmp_path / "other.yaml").write_text(good)
    _, found = run(audit, tmp_path, "--jobs", jobs)
    assert [one["what"] for one in found["notJudged"]] == ["fleet"], "it may be either fleet"
    fleet.unlink()
    assert run(audit, tmp_path, "--jobs", jobs)[1]["notJudged"] == []
    text = CliRunner().invoke(audit, [str(tmp_path)]).output
    assert "whose fleet is not known" not in text


def test_the_text_names_workloads_and_no_annotation_for_a_declaration(tmp_path: Path):
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("max: 8}", "max: 8, gpus: 8}"))
    (tmp_path / "work.yaml").write_text(WORKLOAD)
    text = CliRunner().invoke(audit, [str(tmp_path), "--include-rule", "gpu-idle-command"]).output
    assert "not validated 1 workload whose fleet is not known: Deployment ml/llama" in text
    assert "spec-key-unknown" in text
    assert "Keep a finding for a while" not in text, "an error of a declaration is not waived"


@pytest.mark.parametrize(
    ("text", "what", "reason"),
    [
        (
            "config:\n  gpufleet:fleet:\n    secure: v1:abc\n",
            "variable",
            "`gpufleet:fleet` is encrypted or a text: write the FleetSpec plainly, as a mapping",
        ),
        (
            FLEET.replace("max: 8}", 'max: "${MAX}"}'),
            "variable",
            "a tool fills in values, without which it does not compile",
        ),
        (
            json.dumps({"fleet": {"catalogue": "1999.01", "pools": []}}),
            "document",
            "it was compiled with an edition of the catalogue that is not installed here",
        ),
    ],
)
def test_what_is_not_known_is_neither_an_error_nor_a_success(
    text: str, what: str, reason: str, tmp_path: Path
):
    file = tmp_path / "fleet.yaml"
    file.write_text(text)
    code, found = run(audit, file)
    assert found["findings"] == []
    assert [(one["what"], one["reason"]) for one in found["notJudged"]] == [(what, reason)]
    assert code == 2, "nothing else was there"


def test_a_fleet_that_the_settings_name_must_compile(tmp_path: Path):
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("max: 8}", "max: 2, gpus: 8}"))
    (tmp_path / "work.yaml").write_text(WORKLOAD)
    settings = tmp_path / "settings.yaml"
    settings.write_text("fleet: fleet.yaml\n")
    code, said = run(audit, tmp_path / "work.yaml", "--config", settings)
    assert code == 2
    assert said.startswith("fleet of fleet.yaml does not compile: ")
    assert "pools[0].nodes.gpus" in said
    with pytest.raises(UnreadableFleetError, match="fleet of policy settings does not compile"):
        referenced_fleet(yaml_data(FLEET.replace("max: 8}", "max: 2}")), tmp_path)


def test_sarif_says_what_the_code_is(tmp_path: Path):
    file = tmp_path / "fleet.yaml"
    file.write_text(FLEET.replace("max: 8}", "max: 8, gpus: 8}"))
    result = CliRunner().invoke(audit, [str(file), "--format", "sarif"])
    (rule,) = json.loads(result.stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "spec-key-unknown"
    assert rule["shortDescription"] == {"text": "A declaration does not compile."}
    assert rule["defaultConfiguration"] == {"level": "error"}
