"""The planner's commands in process: `size` with every choice for each model of the table (budget
0.3 s warm), `plan` of 200 different workloads with manifests (5 s). CPU seconds of one process."""

import random
import time
from typing import Any

from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.size import command as size_command
from gpufleet_planner.planning.manifest import manifests
from gpufleet_planner.planning.plan import plan

SIZE_BUDGET, PLAN_BUDGET = 0.3, 5.0
WORKLOADS = 200
_SMALL = ("Llama-3.2-1B", "Llama-3.2-3B", "Llama-3.1-8B", "Qwen2.5-7B", "Qwen3-14B")
_LARGE = ("Qwen3-32B", "Llama-3.1-70B", "Mixtral-8x7B", "gpt-oss-20b", "Gemma-2-9b")


def measure() -> list[str]:
    """Rows of the report."""
    spent = {name: _seconds_to_size(name) for name in load().models}
    slowest = max(spent, key=spent.__getitem__)
    ordered = sorted(spent.values())
    rows = [
        "| `size`, warm | seconds |",
        "|---|---|",
        f"| median of {len(spent)} models | {ordered[len(ordered) // 2]:.3f} |",
        f"| slowest ({slowest}) | {ordered[-1]:.3f} |",
        "",
        f"| `plan` of {WORKLOADS} workloads | seconds | USD/h | above the bound | pools |",
        "|---|---|---|---|---|",
    ]
    for platform, region in (("eks", "us-east-1"), ("gke", "us-central1")):
        for seed in (1, 2):
            rows.append(_plan_row(workloads_file(platform, region, seed), platform, seed))
    return rows


def _seconds_to_size(name: str) -> float:
    question = ["--model", name, "--context", "4096", "--precisions", "bf16,fp8", "--batch", "4"]
    CliRunner().invoke(size_command, question)
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        answer = CliRunner().invoke(size_command, question)
        best = min(best, time.process_time() - began)
        assert answer.exit_code == 0, answer.output
    assert best < SIZE_BUDGET, f"{name}: {best:.2f} s"
    return best


def _plan_row(data: dict[str, Any], platform: str, seed: int) -> str:
    began = time.process_time()
    answer = plan(data)
    documents = manifests(answer)
    spent = time.process_time() - began
    assert len(documents) == WORKLOADS, answer.findings
    cost, bound = answer.usd_per_hour, answer.bound_usd_per_hour
    assert cost is not None
    assert bound is not None
    assert spent < PLAN_BUDGET, f"{spent:.1f} s"
    gap = float((cost - bound) / bound)
    pools = len(answer.pools)
    return f"| {platform}, seed {seed} | {spent:.2f} | {cost:,.2f} | {gap:.2%} | {pools} |"


def workloads_file(platform: str, region: str, seed: int) -> dict[str, Any]:
    """Services, notebooks, fine-tuning and pre-training, all different."""
    chance = random.Random(seed)
    return {
        "platform": platform,
        "environment": "prod",
        "cluster": {"name": "bench", "region": region, "kubernetesVersion": "1.36"},
        "workloads": [_workload(f"w{number}", chance) for number in range(WORKLOADS)],
    }


def _workload(name: str, chance: random.Random) -> dict[str, Any]:
    kind = chance.random()
    if kind < 0.6:
        return {
            "name": name,
            "workload": "inference",
            "model": chance.choice(_SMALL + _LARGE),
            "context": chance.choice((2048, 4096, 8192)),
            "prompt": 512,
            "output": chance.choice((64, 128, 256)),
            "batch": chance.choice((1, 2, 4, 8, 16)),
            "replicas": chance.randint(1, 4),
            "target": {"tokenMs": chance.choice((80, 100, 120))},
        }
    if kind < 0.75:
        memory = chance.choice((4, 8, 16))
        return {
            "name": name,
            "workload": "notebook",
            "count": chance.randint(1, 20),
            "memoryGib": memory,
        }
    training = {"name": name, "context": 2048, "batch": chance.choice((1, 2))}
    if kind < 0.9:
        tokens = chance.randint(10**6, 10**8)
        target = {"tokens": tokens, "deadlineHours": 24}
        return {**training, "workload": "lora", "model": chance.choice(_SMALL), "target": target}
    target = {"tokens": chance.randint(10**8, 10**10), "deadlineHours": 240}
    model = chance.choice(_SMALL[:3])
    return {**training, "workload": "pre-training", "model": model, "target": target}
