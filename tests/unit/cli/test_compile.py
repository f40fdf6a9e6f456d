"""`gpufleet compile`: the table for people, and a JSON document whose keys programs rely on."""

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from gpufleet.cli.compile import command

ROOT = Path(__file__).parents[3]
STACK_FILE = str(ROOT / "stacks" / "Pulumi.sandbox-dev.yaml")
SPEC = """
catalogue: "2026.11"
platform: eks
cluster: {name: ml, region: us-east-1}
pools: [{name: chat, instanceTypes: [g6.xlarge], nodes: {min: 1, max: 3}}]
"""

FLEET_KEYS = {
    "catalogue", "platform", "environment", "cluster", "pools", "addons", "queues", "monitoring",
    "budgetUsdPerHour", "spend",
}  # fmt: skip
POOL_KEYS = {
    "name", "path", "provisioner", "ownership", "intent", "team", "fabric", "gpu",
    "gpuMemoryBytes", "gpusPerNode", "machines", "nodes", "capacity", "image", "owners", "sharing",
    "partition", "advertised", "labels", "taints", "hourlyMicroUsd", "spend",
}  # fmt: skip
PARTITION_KEYS = {
    "mode", "strategy", "replicas", "gpus", "shares", "free", "strandedCompute", "strandedMemory",
    "evidence",
}  # fmt: skip
SPEND_KEYS = {"minimumMicroUsd", "expectedMicroUsd", "maximumMicroUsd", "unbounded"}


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(command, list(arguments), input=given)


def test_json_is_one_document_and_keeps_its_keys() -> None:
    result = run(STACK_FILE, "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert set(document) == {"fleet", "findings"}
    fleet = document["fleet"]
    # More keys may come; these may not go, nor change their meaning, within a version.
    assert set(fleet) >= FLEET_KEYS
    assert set(fleet["spend"]) == SPEND_KEYS
    for pool in fleet["pools"]:
        assert set(pool) >= POOL_KEYS
        assert set(pool["partition"]) >= PARTITION_KEYS
        assert set(pool["spend"]) == SPEND_KEYS
    notebooks = fleet["pools"][1]
    assert notebooks["advertised"] == {
        "nvidia.com/mig-1g.10gb": 28,
        "nvidia.com/mig-2g.20gb": 8,
        "nvidia.com/mig-3g.40gb": 4,
    }
    assert notebooks["partition"]["gpus"][7]["placements"] == [
        {"profile": "2g.20gb", "start": 0, "size": 2},
        {"profile": "2g.20gb", "start": 2, "size": 2},
        {"profile": "3g.40gb", "start": 4, "size": 4},
    ]


def test_the_same_text_gives_the_same_bytes() -> None:
    assert run(STACK_FILE, "--format", "json").stdout == run(STACK_FILE, "--format", "json").stdout


def test_text_names_pools_resources_and_spend() -> None:
    result = run("-", given=SPEC)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "ml on eks" in result.stdout
    assert "1 nvidia.com/gpu" in result.stdout
    # g6.xlarge, on demand in us-east-1: 0.8048 USD/h, one to three of them.
    assert "Spend: at least 0.80, expected 1.61, at most 2.41 USD/h" in result.stdout


def test_unbounded_spend_names_its_cause() -> None:
    block = "{id: cr-0123456789abcdef0, zone: us-east-1a, until: 2030-01-01T11:30:00Z}"
    bought = f"provisioner: managed, capacity: [{{capacityBlock: {block}}}]"
    spec = SPEC.replace("[g6.xlarge]", f"[p5.48xlarge], {bought}")
    result = run("-", given=spec)
    assert result.exit_code == 0, result.stderr
    assert "unknown: chat: no price is known for p5.48xlarge as capacityBlock" in result.stdout
    assert "unbounded" not in result.stdout
    assert "`capacityBlock: {usdPerHour: ...}`" in " ".join(result.stdout.split())


def test_several_machine_types_of_a_pool_are_explained() -> None:
    assert "(+n)" not in run("-", given=SPEC).stdout
    several = run("-", given=SPEC.replace("[g6.xlarge]", "[g6.xlarge, g6.2xlarge]")).stdout
    assert "g6.xlarge (+1)" in several
    assert "upper bound is that of the dearest" in " ".join(several.split())


def test_a_pipe_gets_whole_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    pools = SPEC.replace("[g6.xlarge]", "[g4dn.12xlarge]").replace(
        "name: chat", f"name: {'n' * 40}"
    )
    assert f"│ {'n' * 40} │ g4dn.12xlarge │" in run("-", given=pools).stdout


def test_findings_go_to_standard_error_and_decide_the_exit() -> None:
    result = run("-", given=SPEC.replace("max: 3", "max: 0"))
    assert result.exit_code == 1
    assert "error pools[0].nodes" in result.stderr
    assert "fix: " in result.stderr
    assert result.stdout == ""
    in_json = run("-", "--format", "json", given=SPEC.replace("max: 3", "max: 0"))
    assert in_json.exit_code == 1
    document = json.loads(in_json.stdout)
    assert {"code", "severity", "path", "message", "evidence", "fix"} == set(
        document["findings"][0]
    )


def test_prices_of_ones_own_replace_the_catalogues(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "date: 2026-11-20\n"
        "prices: [{instance: g6.xlarge, buy: onDemand, usd: '0.50', region: us-east-1}]\n"
    )
    result = run("-", "--prices", str(prices), given=SPEC)
    assert "Spend: at least 0.50, expected 1.00, at most 1.50 USD/h" in result.stdout, result.stderr


def test_what_the_targets_cannot_hold_is_said_too() -> None:
    """As in `render` and the deployment: a fleet that compiles can be deployed."""
    pools = "\n".join(
        f"  - {{name: p{i}, instanceTypes: [g6.xlarge], nodes: {{min: 0, max: 1}}}}"
        for i in range(65)
    )
    base = SPEC[: SPEC.index("pools:")]
    queues = "queues: {teams: [{name: lab, share: 1}]}"
    result = run("-", given=f"{base}pools:\n{pools}\n{queues}\n")
    assert result.exit_code == 1
    assert "65 flavors of the group with nvidia.com/gpu" in result.stderr
    assert result.stdout == ""
    old = 'cluster: {name: ml, region: us-east-1, kubernetesVersion: "1.34"}'
    scaled = SPEC.replace("cluster: {name: ml, region: us-east-1}", old)
    given = scaled.replace("nodes:", "provisioner: clusterAutoscaler, nodes:")
    assert "cluster-autoscaler-version-unknown" in run("-", given=given).stderr


def test_a_narrow_terminal_leaves_no_figure_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    narrow = run(STACK_FILE).stdout
    assert "…" not in narrow
    monkeypatch.delenv("COLUMNS")
    for figure in re.findall(r"\d+\.\d\d", run(STACK_FILE).stdout):
        assert figure in narrow


def test_what_plan_and_adopt_write_for_programs_is_a_declaration() -> None:
    spec = yaml.safe_load(SPEC)
    report = {"spec": spec, "pools": [{"name": "chat"}], "cost": 1, "findings": []}
    made = run("-", "--format", "json", given=json.dumps(report))
    assert made.exit_code == 0
    assert made.stdout == run("-", "--format", "json", given=SPEC).stdout
