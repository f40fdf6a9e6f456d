"""The first token: what several GPUs do for one prompt."""

from gpufleet.catalogue import load
from gpufleet_planner.sizing.request import ParallelRequest, SizeRequest
from gpufleet_planner.sizing.serving_rates import ServingSpeed
from gpufleet_planner.sizing.sized import size


def _speed(**degrees: int) -> ServingSpeed:
    answer = size(
        SizeRequest(
            model="Llama-3.1-8B",
            context=8192,
            prompt=4096,
            gpu="H100",
            parallelism=ParallelRequest(**degrees),
        ),
        load(),
    )
    assert isinstance(answer.speed, ServingSpeed)
    return answer.speed


def test_a_prompt_passes_the_stages_of_a_pipeline_one_after_the_other() -> None:
    alone, piped = _speed(), _speed(pipeline=4)
    assert alone.first_token_seconds <= piped.first_token_seconds < 1.1 * alone.first_token_seconds
    # Several prompts fill all stages: the rate grows although no single response is faster.
    assert piped.saturated_tokens_per_second > 2 * alone.saturated_tokens_per_second


def test_tensor_parallel_ranks_share_a_prompt() -> None:
    assert _speed(tensor=4).first_token_seconds < 0.5 * _speed().first_token_seconds
