"""Two fleets of one plan: for the computed speed, and for the lowest that public loads leave."""

from typing import Any

from gpufleet_planner.planning.manifest import plan_as_dict, spec_text
from gpufleet_planner.planning.plan import plan
from tests.planner.plan_files import file, service


def request(**target: float) -> dict[str, Any]:
    row = service("s", model="Llama-3.3-70B", weights="fp8", context=8192, prompt=1000, output=300)
    return {**row, "target": target}


def test_a_fleet_is_bought_for_the_expected_speed_and_the_worst_is_shown() -> None:
    """By hand: 5,100 tokens/s of a 70B in FP8 with prompts of 1,000. Eight H100 in tensor groups
    of 2 make them: one p5.48xlarge, 55.04 USD/h by list. At worst 7,350 are needed (spreads.csv,
    dense: 1.44 times the time): eight H200, of 1.4 times the bandwidth, p5en.48xlarge, 63.30 USD/h
    by list."""
    answer = plan(file(request(requestsPerSecond=17, tokenMs=50)))
    assert f"{answer.usd_per_hour:.2f}" == "55.04"
    shown = plan_as_dict(answer, {})["confidence"]
    assert shown["chosen"] == "expected"
    assert shown["expected"] == {"usdPerHour": "55.040000", "gpus": 8, "problem": None}
    assert shown["worst"] == {"usdPerHour": "63.296000", "gpus": 8, "problem": None}
    assert "published loads leave" in shown["separates"][0]
    text = spec_text(answer)
    assert "expected: 55.0400 USD/h, 8 GPUs; worst: 63.2960 USD/h, 8 GPUs." in text
    assert "load test of one replica at its rate settles it" in text


def test_confidence_worst_buys_the_other_one() -> None:
    answer = plan(file(request(requestsPerSecond=17, tokenMs=50), confidence="worst"))
    assert f"{answer.usd_per_hour:.2f}" == "63.30"
    assert [f"{one.confidence} {one.usd_per_hour:.2f}" for one in answer.fleets] == [
        "worst 63.30",
        "expected 55.04",
    ]


def test_without_a_target_there_is_one_fleet() -> None:
    answer = plan(file(request()))
    assert answer.fleets == ()
    assert plan_as_dict(answer, {})["confidence"] == {"chosen": "expected", "separates": []}


def test_a_worst_fleet_that_does_not_exist_has_its_reason() -> None:
    """19.2 ms per token are computed for one sequence on two H100, a sixth more at worst."""
    row = {**request(tokenMs=22), "gpus": ["H100-80GB"], "mostGpus": 2}
    answer = plan(file(row))
    assert answer.spec is not None
    _, worst = answer.fleets
    assert (worst.gpus, worst.usd_per_hour) == (None, None)
    assert "no fleet" in worst.text
