"""Plans against their lower bound, and how long the largest of them takes."""

import time
from copy import deepcopy
from decimal import Decimal
from typing import Any

import pytest

from gpufleet_planner.planning.manifest import manifests
from gpufleet_planner.planning.plan import plan
from tests.planner.plan_files import errors, file, service
from tests.planner.pod_schedule import schedule


def test_200_workloads_are_planned_in_seconds() -> None:
    models = ["Llama-3.2-1B", "Llama-3.1-8B", "Qwen3-14B", "Gemma-2-9b", "gpt-oss-20b"]
    rows: list[dict[str, Any]] = []
    for i in range(200):
        if i % 5 == 4:
            memory = 4 + i % 3 * 4
            rows.append({"name": f"w{i}", "workload": "notebook", "count": 2, "memoryGib": memory})
            continue
        rows.append(
            service(
                f"w{i}",
                model=models[i % 5],
                context=2048 * (1 + i % 3),
                batch=1 + i % 17,
                prompt=512,
                output=128,
            )
        )
    before = deepcopy(rows)
    plan(file(service()))  # the catalogue is parsed once for everybody
    start = time.process_time()
    answer = plan(file(*rows))
    spent = time.process_time() - start
    assert rows == before
    assert errors(answer) == []
    assert answer.fleet is not None
    assert schedule(answer.fleet, manifests(answer)) == 0
    assert answer.bound_usd_per_hour is not None
    assert answer.usd_per_hour is not None
    assert (
        answer.bound_usd_per_hour
        <= answer.usd_per_hour
        < answer.bound_usd_per_hour * Decimal("1.1")
    )
    # The budget is 5 s; a loaded machine gets twice as much here.
    assert spent < 10


@pytest.mark.parametrize("part", [1, 2, 3, 5, 8, 13])
def test_no_bound_is_above_the_plan(part: int) -> None:
    """Few workloads of several intents, each time others: the bound holds and is often reached."""
    rows = [
        service("a", replicas=part, isolation="hardware", model="Qwen2.5-1.5B"),
        service("b", model="Llama-3.2-3B", batch=part),
        {"name": "n", "workload": "notebook", "count": part, "memoryGib": 4 + part},
        {
            "name": "t",
            "workload": "lora",
            "model": "Llama-3.2-1B",
            "context": 1024,
            "target": {"tokens": 10**6 * part},
        },
    ]
    for gpus in ([], ["A100-80GB"], ["L4", "H100-80GB"]):
        answer = plan(file(*rows, gpus=gpus))
        assert answer.usd_per_hour is not None, answer.findings
        assert answer.bound_usd_per_hour is not None
        assert answer.bound_usd_per_hour <= answer.usd_per_hour + Decimal("0.000001")
