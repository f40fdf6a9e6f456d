"""Closed loops of clients that start together, against published ones (closed_loops.py)."""

from math import inf
from statistics import median

import pytest

from gpufleet_planner.sizing.load_test import LoadedEngine, LoadFigures, load_test
from gpufleet_planner.sizing.spread import DENSE_TENSORRT
from tests.planner.sizing.closed_loops import APART, POINTS, LoopPoint, loop_table
from tests.planner.sizing.load_points import LONG_PROMPTS, SHORT_PROMPTS, SHORTEST
from tests.planner.sizing.load_points import LoadPoint as NimPoint
from tests.planner.sizing.test_measurements import DOCS


def test_the_third_kept_apart_is_a_third() -> None:
    assert len(POINTS) == 134
    assert len(APART) == 46


def test_all_three_figures_of_points_kept_apart() -> None:
    """First token and time per token within 1.25, throughput within 1.2: 34 of 46 points that no
    constant is fitted to."""
    near = [point.case for point in APART if point.near]
    assert len(near) >= 34
    # Every model, generation of GPU and kind of prompt is among them.
    for word in ("70B", "8B", "A100", "H100", " 200 +", " 2000 +", " 7000 +"):
        assert any(word in case for case in near), word


def test_each_figure_of_points_kept_apart() -> None:
    found = [point.apart_by for point in APART]
    first, token, rate = (
        [max(factor, 1 / factor) for factor in factors] for factors in zip(*found, strict=True)
    )
    assert sum(factor <= 1.25 for factor in first) >= 38
    assert sum(factor <= 1.25 for factor in token) >= 43
    assert sum(factor <= 1.2 for factor in rate) >= 40
    assert median(first) <= 1.11
    assert median(token) <= 1.07
    assert median(rate) <= 1.08


def test_the_documentation_shows_these_figures() -> None:
    text = DOCS.read_text(encoding="utf-8")
    missing = [line for line in loop_table() if line not in text]
    assert missing == [], "paste what python -m tests.planner.sizing.closed_loops prints"


def test_times_per_token_are_within_the_spread() -> None:
    least, most = DENSE_TENSORRT.least, DENSE_TENSORRT.most
    outside = [
        point.case
        for point in POINTS
        if not least
        <= point.token_ms / (1000 * point.replica.loaded_token_seconds(point.clients))
        <= most
    ]
    assert len(outside) <= 5
    assert sum(point.case in outside for point in APART) <= 1


IN_BETWEEN = [
    point for point in (*LONG_PROMPTS, *SHORT_PROMPTS, *SHORTEST) if point.concurrency > 1
]


@pytest.mark.parametrize("point", IN_BETWEEN, ids=lambda point: point.case)
def test_tests_that_do_not_say_how_they_start_are_between_both(point: NimPoint) -> None:
    """From random arrivals to clients that start together; one mean is 0.8 % above the latter."""
    replica, clients = point.replica, point.concurrency
    low = 1000 * replica.loaded_first_token_seconds(clients)
    high = 1000 * replica.together(clients).first_token_seconds
    assert low <= point.first_token_ms <= 1.01 * high


def test_a_single_client_waits_for_no_one() -> None:
    for point in POINTS:
        if point.clients == 1:
            replica, loop = point.replica, point.computed
            alone = replica.loaded_first_token_seconds(1)
            # The loop counts the cache that the sequence has in each step, the formula its mean.
            assert loop.first_token_seconds == pytest.approx(alone, rel=0.01)
            assert loop.token_seconds == pytest.approx(replica.step_seconds(1), rel=0.001)


def _setting(prompt: int, clients: int) -> LoopPoint:
    return next(p for p in POINTS if (p.prompt, p.clients) == (prompt, clients))


def test_twice_the_clients_never_answer_sooner() -> None:
    for prompt in (200, 2000, 7000):
        replica = _setting(prompt, 25).replica
        firsts = {n: replica.together(n).first_token_seconds for n in range(1, 400)}
        assert all(firsts[n] <= firsts[2 * n] for n in range(1, 200))


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


def test_tensorrt_llm_keeps_room_for_the_whole_of_each_sequence() -> None:
    """200 + 2,000 tokens on one H100 with Llama-3-8B in FP16: of 200 clients 5 % wait more than
    57 s for the first token, so that fewer run at once (same source, a row that is not in the
    table); of 150 none does. By the mean length 342 would run."""
    assert 150 < _room(200, 2000) <= 205


def _room(prompt: int, output: int) -> int:
    return next(
        point.replica.room
        for point in POINTS
        if (point.gpu, point.prompt, point.output) == ("H100-80GB", prompt, output)
    )
