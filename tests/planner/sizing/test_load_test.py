"""Load tests simulated step by step: different lengths, room in the cache, arrivals; by hand."""

from itertools import pairwise
from math import inf
from statistics import fmean

import pytest

from gpufleet_planner.sizing.load_test import (
    Lengths,
    LoadedEngine,
    LoadFigures,
    Reserve,
    at_random,
    drawn,
    load_test,
)
from gpufleet_planner.sizing.request import LengthShape

NONE, WHOLE = Reserve(), Reserve(1.0, 1.0)


def measured(
    requests: list[Lengths],
    times: list[float] | None = None,
    cache: float = inf,
    reserve: Reserve = NONE,
    step_tokens: float = 1000,
) -> LoadFigures:
    """Steps of 10 ms whatever they prefill."""
    engine = LoadedEngine(
        step_seconds=lambda batch, held: 0.010,
        prefill_seconds=lambda batch, held, tokens: 0.010,
        delay_seconds=0.0,
        step_tokens=step_tokens,
        cache_tokens=cache,
        reserve=reserve,
    )
    return load_test(engine, requests, times=times)


def test_a_short_answer_counts_as_much_as_a_long_one() -> None:
    """In ms: the first prompt is prefilled from 0 to 10, the second, 1 behind, from 10 to 20, the
    third, at 25, from 30 to 40. The second has both of its tokens at 30; the first has 5 at 50."""
    found = measured([(10, 5), (10, 2), (10, 1)], [0.0, 0.001, 0.025])
    # The third has one token and no time between tokens.
    assert found.token_seconds == pytest.approx(0.010)
    assert found.first_token_seconds == pytest.approx((10 + 19 + 15 + 3 * 3) / 3000)
    assert found.tokens_per_second == pytest.approx(8 / 0.050)
    assert found.pauses == 0


def test_who_began_last_gives_way_and_is_computed_again() -> None:
    """Two of 10 + 10 tokens and 30 in the cache, in ms. At 20 the first holds 12, the second 11; at
    50 they hold 15 and 14, and there is no room for two more. The second gives way; the first ends
    at 100. The second is prefilled with its 4 tokens until 110 and ends at 160."""
    found = measured([(10, 10), (10, 10)], cache=30)
    assert found.pauses == 1
    assert found.token_seconds == pytest.approx(((100 - 10) + (160 - 20)) / 9 / 2000)
    assert found.first_token_seconds == pytest.approx((10 + 19 + 2 * 3) / 2000)


def test_with_room_for_the_whole_no_one_is_paused() -> None:
    """The same: the second waits for the end of the first at 100, has its first token at 110."""
    found = measured([(10, 10), (10, 10)], cache=30, reserve=WHOLE)
    assert found.pauses == 0
    assert found.token_seconds == pytest.approx(0.010)
    assert found.first_token_seconds == pytest.approx((10 + 109 + 2 * 3) / 2000)


def test_a_part_of_the_output_to_come_is_kept_free() -> None:
    """At 10 the first holds 11 and has 9 to come, the second needs 20: 11 + 20 + 9 / 2 is 35.5."""
    half = Reserve(0.5, 0.5)
    assert measured([(10, 10), (10, 10)], cache=35, reserve=half).first_token_seconds > 0.05
    assert measured([(10, 10), (10, 10)], cache=36, reserve=half).first_token_seconds < 0.02


def test_a_long_prompt_takes_several_steps_beside_what_is_decoded() -> None:
    """Steps of 11 tokens: the prompt of 30, there at 1, gets 10 of each, from 10 to 40."""
    found = measured([(11, 9), (30, 2)], step_tokens=11)
    assert found.first_token_seconds == pytest.approx((10 + 39 + 2 * 3) / 2000)


def test_what_never_fits_alone_runs_alone() -> None:
    found = measured([(50, 3), (50, 3)], cache=30)
    assert found.tokens_per_second == pytest.approx(6 / 0.060)


@pytest.mark.parametrize("reserve", [Reserve(), WHOLE, Reserve(0.7, 0.098, 600)])
def test_every_request_is_answered_whatever_the_room(reserve: Reserve) -> None:
    requests = list(drawn(LengthShape.SHAREGPT, 300, 217, 201))
    tokens = sum(output for _, output in requests)
    last = 0.0
    for cache in (2500, 10_000, 40_000, inf):
        found = measured(requests, cache=cache, reserve=reserve)
        rate = found.tokens_per_second
        assert last <= 1.01 * rate
        assert tokens / rate >= 0.010 * max(output for _, output in requests)
        last = rate
    assert found.pauses == 0


def test_lengths_have_the_means_that_were_asked_for() -> None:
    for shape in LengthShape:
        found = drawn(shape, 1000, 500, 200)
        assert found == drawn(shape, 1000, 500, 200)
        assert fmean(prompt for prompt, _ in found) == pytest.approx(500, rel=0.01)
        assert fmean(output for _, output in found) == pytest.approx(200, rel=0.01)
    assert set(drawn(LengthShape.EQUAL, 7, 500, 200)) == {(500, 200)}
    uniform = drawn(LengthShape.UNIFORM, 1000, 500, 200)
    assert (min(uniform)[0], max(uniform)[0]) == (1, 1000)


def test_lengths_of_conversations_are_those_that_vllm_keeps() -> None:
    """`is_valid_sequence` (vllm/benchmarks/datasets.py @ 0056b87): 4 tokens at least, prompts up to
    1,024, both up to 2,048. By their own means, so that nothing is scaled."""
    pairs = drawn(LengthShape.SHAREGPT, 190, 44252 / 190, 41542 / 190)
    assert len(pairs) == 190
    assert all(prompt >= 4 and output >= 4 for prompt, output in pairs)
    assert max(prompt for prompt, _ in pairs) <= 1024
    assert max(map(sum, pairs)) <= 2048
    assert (759, 16) in pairs
    assert (1524, 43) not in pairs


def test_arrivals_at_random_have_the_rate() -> None:
    times = at_random(8, 4000)
    assert times == at_random(8, 4000)
    assert len(times) / times[-1] == pytest.approx(8, rel=0.05)
    gaps = [after - before for before, after in pairwise(times)]
    # Of an exponential distribution 1/e is longer than the mean.
    assert sum(gap > 1 / 8 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.03)


def _measured(prompts_per_step: float, clients: int, room: float = inf) -> LoadFigures:
    """Steps of 10 ms, 4 ms more for each prompt of 1,000 tokens, answers of 101 tokens."""
    engine = LoadedEngine(
        step_seconds=lambda batch, held: 0.010,
        prefill_seconds=lambda batch, held, tokens: 0.010 + 0.004 * tokens / 1000,
        delay_seconds=0.0,
        step_tokens=1000 * prompts_per_step,
        sequences=room,
    )
    return load_test(engine, [(1000, 101)] * 3 * clients, clients)


def test_a_prompt_that_just_missed_a_step_pays_another() -> None:
    """By hand, two clients, in ms; a request takes 3, the second one is 1 behind. Steps 0 to 14 and
    14 to 28 prefill one prompt each: 17 and 28 - 1 + 3 = 30. The first ends at 28 + 99 x 10 = 1018,
    has its next prompt there at 1021, in the step from 1028 to 1042: 24; the second ends at 1028,
    1031, 1056: 28. The third round is as the second, and ends at 3084."""
    loop = _measured(10, 2)
    assert loop.first_token_seconds == pytest.approx((17 + 30 + 2 * (24 + 28)) / 6000)
    assert loop.token_seconds == pytest.approx((10.04 + 10.0) / 2000)
    assert loop.tokens_per_second == pytest.approx(6 * 101 / 3.084)


def test_half_of_a_prompt_in_each_step() -> None:
    assert _measured(0.5, 1).first_token_seconds == pytest.approx(0.027)


def test_who_has_no_room_waits_for_an_end() -> None:
    """One at a time: 17 ms, then each waits for the other, whose 100 steps take a second."""
    loop = _measured(10, 2, room=1)
    assert 0.7 < loop.first_token_seconds < 1.1
    assert loop.token_seconds == pytest.approx(0.010)
