"""Random teams with few GPUs to choose from, one replica, spot, budgets and several regions: what
`plan` writes without an error is audited without one, and its size is not doubted."""

import random
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_policies.commands.audit import command as audit
from tests.examples import examples
from tests.planner.plan_files import service

MODELS = ("Llama-3.2-1B", "Llama-3.1-8B", "Qwen3-4B", "Qwen3-32B", "gpt-oss-20b", "Gemma-3-27b")
PLACES = (("eks", "us-east-1"), ("eks", "eu-west-1"), ("gke", "us-central1"))
GPUS = ([], [], ["A100-80GB"], ["H100-80GB"], ["L4", "H100-80GB"], ["L40S", "A10G"], ["A100-40GB"])
TARGETS = ({}, {}, {"requestsPerSecond": 2.0}, {"tokenMs": 50}, {"outputTokensPerSecond": 500})
DOUBTS = ("gpu-oversized-for-model", "model-exceeds-gpu-memory")


def team(draw: random.Random) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for number in range(draw.choice((1, 1, 2, 3, 5))):
        if draw.random() < 0.25:
            row = {"name": f"n{number}", "workload": "notebook", "culledAfterHours": 2}
            row |= {"count": draw.choice((1, 3, 8)), "memoryGib": draw.choice((4, 10, 30))}
        else:
            row = service(
                f"s{number}", model=draw.choice(MODELS), image=f"registry.example/s:{number}"
            )
            row |= {"batch": draw.choice((1, 4, 16)), "replicas": draw.choice((1, 1, 3))}
            row |= {"target": draw.choice(TARGETS), "prompt": 512, "output": 256}
        rows.append(row | {"interruptible": draw.random() < 0.2})
    platform, region = draw.choice(PLACES)
    head: dict[str, Any] = {"platform": platform, "cluster": {"name": "test", "region": region}}
    head |= {"gpus": draw.choice(GPUS), "confidence": draw.choice(("expected", "worst"))}
    if draw.random() < 0.2:
        head["budget"] = {"usdPerHour": draw.choice((5, 50, 500))}
    return {**head, "environment": draw.choice(("dev", "prod")), "workloads": rows}


def test_what_is_planned_without_an_error_is_audited_without_one(tmp_path: Path) -> None:
    source, pods, fleet = (tmp_path / f"{part}.yaml" for part in ("in", "pods", "fleet"))
    passed, teams = 0, examples(12)
    for seed in range(teams):
        source.write_text(yaml.safe_dump(team(random.Random(seed))), "utf-8")
        done = CliRunner().invoke(plan_command, [str(source), "--manifests", str(pods)])
        assert done.exit_code in (0, 1), (seed, done.output)
        assert not any(code in done.stderr for code in DOUBTS), (seed, done.stderr)
        if done.exit_code:
            continue
        passed += 1
        fleet.write_text(done.stdout, "utf-8")
        found = CliRunner().invoke(audit, [str(pods), str(fleet)])
        assert found.exit_code == 0, (seed, found.output)
        assert not any(code in found.output for code in DOUBTS), (seed, found.output)
    assert passed >= teams / 2
