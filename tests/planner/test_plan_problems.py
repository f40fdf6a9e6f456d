"""Files that cannot be planned: each problem names its place and what to write instead."""

from typing import Any

import pytest

from gpufleet_planner.planning.plan import plan
from tests.planner.plan_files import errors, file, service

RHCOS = {"cpus": 64, "memoryGib": 512, "template": "rhcos-gpu"}


def test_own_hardware_is_not_more_than_there_is() -> None:
    rows = [service("a", model="Llama-3.1-70B", replicas=2)]
    head = {
        "platform": "openshift",
        "cluster": {"name": "test"},
        "hardware": [
            {
                "gpu": "H100",
                "gpusPerNode": 8,
                "nodes": 1,
                "usdPerGpuHour": "2.10",
                "openshift": RHCOS,
            }
        ],
    }
    answer = plan(file(*rows, **head))
    assert errors(answer) == []
    assert answer.usd_per_hour is not None
    assert float(answer.usd_per_hour) == pytest.approx(16.8)
    rows = [service("a", model="Llama-3.1-70B", replicas=5)]
    assert "nothing-fits" in errors(plan(file(*rows, **head)))
    two = [service(n, model="Llama-3.1-70B", replicas=3) for n in ("a", "b")]
    assert "no-deployable-choice" in errors(plan(file(*two, **head)))


def test_unknown_names_are_errors_with_the_nearest() -> None:
    answer = plan(file(service(model="Lama-3.1-8B"), gpus=["H1000"]))
    found = {f.code: f for f in answer.findings}
    assert set(found) == {"model-unknown", "gpu-unknown"}
    assert "Llama-3.1-8B" in (found["model-unknown"].fix or "")
    assert found["model-unknown"].path == "workloads[0].model"
    assert "H100-80GB" in (found["gpu-unknown"].fix or "")
    assert answer.spec is None


def test_all_problems_of_a_file_come_at_once() -> None:
    answer = plan(
        file(
            service(contxt=1),
            service(mig="1g.10gb"),
            service("x", target={"tokenMs": 10, "tokens": 5}),
            {"name": "n", "workload": "notebook", "memoryGib": 500},
            service("y", loadTest={"rate": 2}),
        )
    )
    found = [f"{f.code} {f.path}" for f in answer.findings]
    assert found[:2] == ["plan-file-invalid workloads[0].contxt", "plan-decides workloads[1].mig"]
    assert "target-not-for-workload workloads[2].target.tokens" in found
    assert "nothing-fits workloads[3]" in found
    assert "plan-file-invalid workloads[4].loadTest" in found
    assert "write context" in (answer.findings[0].fix or "")


@pytest.mark.parametrize(
    ("change", "message", "fix"),
    [
        ({"workloads": []}, "at least one workload", "write workloads:"),
        ({"workloads": [3]}, "must be a mapping", "write {name: chat"),
        ({"workloads": [{"name": "a", "workload": "inference"}]}, "required and missing", "add "),
    ],
)
def test_every_structural_problem_of_a_file_says_what_to_write(
    change: dict[str, Any], message: str, fix: str
) -> None:
    found = plan({**file(service()), **change, "hardware": 3}).findings
    invalid = [f for f in found if f.code == "plan-file-invalid"]
    assert "hardware" in {f.path for f in invalid}
    assert all(f.fix for f in invalid)
    assert any(message in f.message and fix in (f.fix or "") for f in invalid)
    assert all("Input" not in f.message for f in invalid)


def test_contradictory_targets_stop_the_plan() -> None:
    answer = plan(
        file(
            service(
                workload="lora",
                target={"tokens": 10**10, "deadlineHours": 1, "budgetUsd": "10"},
            )
        )
    )
    (problem,) = [f for f in answer.findings if f.severity.value == "error"]
    assert problem.code == "target-contradiction"
    assert problem.evidence["targets"] == ["deadlineHours", "budgetUsd"]


def test_a_budget_that_is_too_small_is_an_error() -> None:
    answer = plan(file(service(), budget={"usdPerHour": "0.5"}))
    assert errors(answer) == ["budget-exceeded"]
