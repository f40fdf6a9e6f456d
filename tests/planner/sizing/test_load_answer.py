"""The load test of a request: what it needs, and that `size` computes it as the published rows."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet_planner.commands.size import command
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import Sizing, size
from gpufleet_planner.sizing.throughput import spread_of
from tests.planner.sizing.load_points import of

BURST = {
    "model": "Qwen/Qwen3-32B",
    "context": 418,
    "prompt": 217,
    "output": 201,
    "gpu": "H100",
    "maxSequences": 1024,
    "utilisation": 0.9,
    "loadTest": {"prompts": 1000, "lengths": "sharegpt"},
}


def ask(**more: Any) -> Sizing:
    return size(SizeRequest.model_validate({**BURST, **more}), load())


def test_a_burst_is_computed_as_the_published_one() -> None:
    """Qwen3-32B in BF16 on one H100, vLLM 0.11, 1,000 prompts (gpustack/gpustack @ 10e9444): 1,132
    tokens/s are within the range."""
    (row,) = [one for one in of("apart") if one.case.startswith("Qwen3-32B BF16, 1 x H100, vllm")]
    answer = ask().load_test
    assert answer is not None
    assert answer.token_seconds == pytest.approx(row.computed.token_seconds)
    assert answer.tokens_per_second == pytest.approx(row.computed.tokens_per_second)
    assert answer.first_token_seconds == pytest.approx(row.computed.first_token_seconds)
    low, high = answer.token_seconds_range
    spread = spread_of(row.replica.kind, burst=True)
    assert (low, high) == (spread.least * answer.token_seconds, spread.most * answer.token_seconds)
    least, most = answer.tokens_per_second_range
    assert least <= 1131.55 <= most
    assert answer.pauses > 100


def test_the_options_of_vllm_ask_the_same() -> None:
    options = [
        *("--model", "Qwen/Qwen3-32B", "--context", "418", "--prompt", "217", "--output", "201"),
        *("--gpu", "H100", "--max-sequences", "1024", "--num-prompts", "1000"),
        *("--lengths", "sharegpt", "--utilisation", "0.9"),
    ]
    found = CliRunner().invoke(command, [*options, "--format", "json"])
    answer = ask().load_test
    assert answer is not None
    shown = json.loads(found.output)["loadTest"]
    assert shown["tokenSeconds"] == answer.token_seconds
    assert shown["tokensPerSecondRange"] == list(answer.tokens_per_second_range)
    text = CliRunner().invoke(command, options).output
    assert "load test of 1000 prompts, all at once, sharegpt lengths" in text
    assert f"sequences paused for room {answer.pauses} times" in text


def test_no_test_is_followed_that_no_one_asked_for() -> None:
    assert ask(loadTest=None).load_test is None


@pytest.mark.parametrize(
    ("more", "message", "fix"),
    [
        ({"prompt": None}, "the mean prompt of the load test is missing", "add prompt"),
        ({"output": None}, "the mean output of the load test is missing", "add output"),
        ({"gpu": None}, "the speed of a load test is that of a GPU", "name the gpu"),
        ({"engine": "transformers"}, "processes no other request", "vllm, sglang or"),
        ({"workload": "embedding"}, "embedding generates no output", "size inference"),
        ({"workload": "lora"}, "lora generates no output", "leave loadTest out"),
        ({"loadTest": {"rate": 2, "clients": 2}}, "both at once are not supported", "clients out"),
    ],
)
def test_what_cannot_be_followed_is_said(more: dict[str, Any], message: str, fix: str) -> None:
    answer = ask(**more)
    found = [one for one in answer.findings if one.code == "load-test-not-followed"]
    assert len(found) == 1
    assert message in found[0].message
    assert fix in (found[0].fix or "")
    assert answer.load_test is None


def test_everything_that_is_missing_is_said_at_once() -> None:
    answer = ask(prompt=None, output=None, gpu=None)
    assert [one.code for one in answer.findings].count("load-test-not-followed") == 3
