from decimal import Decimal

import pytest
from pydantic import ValidationError

from gpufleet_planner.planning.need import ServingTarget, check_target
from gpufleet_planner.sizing.request import SizedWorkload


def codes(target: ServingTarget, workload: SizedWorkload, output: int | None = 256) -> list[str]:
    return [f"{f.code} {f.path}" for f in check_target(target, workload, output)]


def test_a_target_of_another_workload_is_refused() -> None:
    assert codes(ServingTarget(token_ms=10), SizedWorkload.LORA) == [
        "target-not-for-workload target.tokenMs"
    ]
    assert codes(ServingTarget(tokens=5), SizedWorkload.INFERENCE) == [
        "target-not-for-workload target.tokens"
    ]
    assert codes(ServingTarget(budget_usd_per_hour=Decimal(3)), SizedWorkload.EMBEDDING) == []


def test_a_deadline_needs_a_length() -> None:
    assert codes(ServingTarget(deadline_hours=3), SizedWorkload.LORA) == [
        "target-incomplete target.tokens"
    ]
    assert codes(ServingTarget(deadline_hours=3, tokens=10), SizedWorkload.LORA) == []


def test_rates_that_contradict_each_other_are_named() -> None:
    target = ServingTarget(requests_per_second=2, output_tokens_per_second=100)
    (found,) = check_target(target, SizedWorkload.INFERENCE, 256)
    assert found.evidence["targets"] == ["requestsPerSecond", "outputTokensPerSecond"]
    assert "512" in found.message
    assert codes(target, SizedWorkload.INFERENCE, 50) == []
    assert codes(ServingTarget(requests_per_second=2), SizedWorkload.INFERENCE, None) == [
        "target-incomplete target.requestsPerSecond"
    ]


def test_an_hour_may_not_cost_more_than_the_run() -> None:
    target = ServingTarget(tokens=1, budget_usd=Decimal(5), budget_usd_per_hour=Decimal(6))
    (found,) = check_target(target, SizedWorkload.LORA, None)
    assert found.evidence["targets"] == ["budgetUsdPerHour", "budgetUsd"]


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_limits_are_positive_and_finite(value: float) -> None:
    with pytest.raises(ValidationError):
        ServingTarget(token_ms=value)
