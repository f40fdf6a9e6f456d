"""Serving under load against the one table of published load tests (load_points.py)."""

import importlib.util
import re
from math import log
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

from gpufleet_planner.sizing.serving_rates import PERCENTILE
from gpufleet_planner.sizing.throughput import WIDE, spread_of
from gpufleet_planner.tables import table
from tests.planner.sizing.load_points import POINTS, LoadPoint, of

ROOT = Path(__file__).parents[3]
NEW = ("2026", "slowed", "later", "last", "fifth", "final", "after")
"""Sets of 2026: all but `fifth` were written down before anything was computed of them."""
APART = tuple(point for point in POINTS if point.apart and point.row["set"] not in NEW)
NAMES = ("first_token_ms", "token_ms", "tokens_per_second")


def within(points: tuple[LoadPoint, ...], name: str, factor: float) -> tuple[int, int]:
    found = [by for point in points if (by := point.by(name)) is not None]
    return sum(1 / factor <= by <= factor for by in found), len(found)


def inside(point: LoadPoint) -> bool:
    spread = spread_of(point.replica.kind, burst=point.burst)
    return 1 / spread.most <= point.rate_by <= 1 / spread.least


def test_the_table_has_its_sets() -> None:
    sizes = {name: len(of(name)) for name in ("closed", "nim", *NEW)}
    new = {"2026": 32, "slowed": 8, "later": 38, "last": 9, "fifth": 20, "final": 49, "after": 40}
    assert sizes == {"closed": 134, "nim": 29, **new}
    assert len(POINTS) == 422
    assert len(APART) == 68
    assert all(point.row["source"] for point in POINTS)


def test_points_that_nothing_is_fitted_to() -> None:
    """Of the third kept apart, the sets of 2026 counted below: throughput within 1.2 in 56 of 68
    and inside its range in 68. The time per token is within 1.25 in 57: gpt-oss-120b on eight B200
    with 100 clients has its throughput, and a longer time, as prompts take less."""
    assert within(APART, "tokens_per_second", 1.2) >= (56, 68)
    assert sum(map(inside, APART)) >= 68
    assert within(APART, "token_ms", 1.25)[0] >= 57


def test_points_of_2026_that_nothing_is_fitted_to() -> None:
    """Of the 37 that a hash keeps out: within 1.2 in 19, inside the range in 34. Two of the others
    are of a dense model in NVFP4, which SGLang serves four times slower than in BF16."""
    points = tuple(point for point in of("2026", "later", "last", "fifth") if point.apart)
    assert within(points, "tokens_per_second", 1.2) >= (19, 37)
    assert sum(map(inside, points)) >= 34
    assert sum(map(inside, of("slowed"))) >= 2


def test_load_tests_written_down_before_they_were_computed() -> None:
    """49 of 2026, computed once with what was fitted without them: 20 within 1.2 (1 of 12 dense, 19
    of 37 mixtures) and 48 inside the range; 29 (10 of the dense ones) since each layer of a dense
    model has its own time. Then 40: 17 within 1.2 and 34 inside, 38 since the server's own work
    bounds a step."""
    dense = tuple(point for point in of("final") if not point.mixture)
    assert within(of("final"), "tokens_per_second", 1.2) >= (29, 49)
    assert within(dense, "tokens_per_second", 1.2) >= (10, 12)
    assert sum(map(inside, of("final"))) >= 48
    assert within(of("after"), "tokens_per_second", 1.2) >= (17, 40)
    assert sum(map(inside, of("after"))) >= 38


@pytest.mark.parametrize("name", NAMES)
def test_following_a_test_is_nearer_than_the_formulas_for_a_mean_load(name: str) -> None:
    """Why the load test is followed step by step: of the points kept apart more are within 1.25."""

    def near(values: list[float]) -> int:
        return sum(1 / 1.25 <= value <= 1.25 for value in values)

    points = [point for point in (*APART, *of(*NEW)) if point.row[name]]
    followed = [float(point.by(name) or 0) for point in points]
    formula = [point.number(name) / point.closed_form[name] for point in points]
    assert near(followed) > near(formula)


def test_bursts_cannot_be_computed_from_a_mean_load() -> None:
    bursts = [point for point in POINTS if point.burst]
    followed = median(abs(log(point.rate_by)) for point in bursts)
    formula = median(
        abs(log(point.number("tokens_per_second") / point.closed_form["tokens_per_second"]))
        for point in bursts
    )
    assert followed < 0.5 * formula


def fit_spreads() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fit_spreads", ROOT / "tools" / "fit_spreads.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_file_of_spreads_is_what_the_script_writes() -> None:
    script = fit_spreads()
    assert script.TABLE.read_text("utf-8") == script.text(), "run tools/fit_spreads.py"


@pytest.mark.nightly
def test_the_parts_of_the_rates_are_what_the_script_writes() -> None:
    script = fit_spreads()
    assert script.REACHED.read_text("utf-8") == script.reached(), "run tools/fit_spreads.py"


def test_ranges_of_dense_models_are_narrow_enough_to_buy_by() -> None:
    for row in table("spreads"):
        kind, spread = (
            row["kind"],
            spread_of((row["kind"], row["engine"], row["bits"]), burst=row["load"] == "burst"),
        )
        assert spread.least < 1 < spread.most
        assert spread.points >= 8
        if kind == "dense":
            assert spread.most / spread.least <= WIDE
            assert spread.note == ""


def test_a_mixture_is_planned_with_the_wide_range() -> None:
    mixture = next(one for one in POINTS if one.mixture).replica
    dense = next(one for one in POINTS if not one.mixture).replica
    low, high = mixture.loaded_token_range(8)
    assert high / low > WIDE
    assert "measure before you buy" in mixture.speed(8).range_note
    assert dense.speed(8).range_note == ""


def test_aiconfigurator_is_near_the_spread_too() -> None:
    """The table of docs/benchmarks.md: ours, then AIConfigurator's, 20 points of Llama-3.3-70B."""
    rows = re.findall(
        r"^\| .*?, \d+ at once \| .*? \| ([\d.]+), ([\d.]+).*? "
        r"\| ([\d,]+), ([\d,]+)(?:, .*)? \|$",
        (ROOT / "docs" / "benchmarks.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert len(rows) >= 20
    for figures in rows:
        token, other, rate, theirs = (float(figure.replace(",", "")) for figure in figures)
        assert 0.7 * token <= other <= 1.34 * token
        assert rate / 1.34 <= theirs <= rate / 0.7


def nim(lengths: str) -> list[LoadPoint]:
    return [p for p in of("nim") if f"{p.row['prompt']} + {p.row['output']}" == lengths]


LOADED = [point for point in of("nim") if 1 < point.clients <= point.replica.room]


@pytest.mark.parametrize("point", LOADED, ids=lambda point: point.case)
def test_what_is_planned_with_is_not_less_than_measured(point: LoadPoint) -> None:
    """Short prompts too, which arrive in bunches in such tests."""
    planned = 1000 * point.replica.loaded_first_token_seconds(point.clients, PERCENTILE)
    assert planned >= 0.95 * point.number("first_token_ms")


@pytest.mark.parametrize("point", LOADED, ids=lambda point: point.case)
def test_tests_that_do_not_say_how_they_start_are_between_both(point: LoadPoint) -> None:
    """From random arrivals to clients that start together; one mean is 0.8 % above the latter."""
    low, high, _ = point.first_token_ms
    assert low <= point.number("first_token_ms") <= 1.01 * high


def test_prompts_of_a_mixture_read_the_experts_that_its_sequences_do_not() -> None:
    """By hand: of GLM-4.6 (160 experts, 8 a token, 89 mixture layers) one sequence touches 5 %, a
    prompt of 998 tokens all of them; in BF16 on 8 x H200 each expert takes 3 x 5120 x 1536 x 2 / 8
    bytes, read at 0.65 of 4.8 TB/s."""
    (one,) = [load for load in of("constants") if load.clients == 1]
    replica = one.replica
    expert = 3 * 5120 * 1536 * 2 / 8
    seconds = 89 * 160 * 0.95 * expert / (0.65 * 4.8e12)
    more = replica.prefill_seconds(1) - replica.prompt_seconds
    assert abs(more / seconds - 1) < 0.02
    assert replica.prefill_seconds(500) - replica.prompt_seconds < 0.001 * seconds


def test_a_step_of_known_size_fixes_the_prefill_of_mxfp4() -> None:
    """gpt-oss-20b on one H100, vLLM 0.11, prompts of 4,000: half of the times between tokens, all
    of steps with 8,192 tokens, are above 0.227 s (gpustack/gpustack @ 7b50d50)."""
    (row,) = [one.row for one in of("fresh") if one.row["model"] == "openai/gpt-oss-20b"]
    engine = LoadPoint({**row, "prompt": "3998", "output": "105"}).replica.loaded_engine()
    assert abs(engine.prefill_seconds(20, 20 * 4050, 8192) / 0.227 - 1) < 0.03


def test_an_idle_replica_has_no_load() -> None:
    for point in (nim("5000 + 500")[0], nim("500 + 2000")[0]):
        replica = point.replica
        step = replica.step.seconds(1) + 1050e-6
        assert replica.loaded_token_seconds(1) == pytest.approx(step, rel=0.01)
        first = replica.loaded_first_token_seconds(1, PERCENTILE)
        assert first == pytest.approx(replica.first_token_seconds + step + 3e-3)


def test_times_never_fall_with_the_load() -> None:
    for point in (nim("5000 + 500")[0], nim("500 + 2000")[0]):
        replica = point.replica
        batches = range(1, 200)
        tokens = [replica.loaded_token_seconds(batch) for batch in batches]
        firsts = [replica.loaded_first_token_seconds(batch, PERCENTILE) for batch in batches]
        assert tokens == sorted(tokens)
        assert firsts == sorted(firsts)


def test_a_single_client_waits_for_no_one() -> None:
    for point in of("closed"):
        if point.clients == 1:
            replica, loop = point.replica, point.computed
            alone = replica.loaded_first_token_seconds(1)
            # The loop counts the cache that the sequence has in each step, the formula its mean.
            assert loop.first_token_seconds == pytest.approx(alone, rel=0.01)
            assert loop.token_seconds == pytest.approx(replica.step_seconds(1), rel=0.001)


def test_tensorrt_llm_keeps_room_for_the_whole_of_each_sequence() -> None:
    """200 + 2,000 tokens on one H100 with Llama-3-8B in FP16: of 200 clients 5 % wait more than
    57 s for the first token, so that fewer run at once (same source, a row that is not in the
    table); of 150 none does. By the mean length 342 would run."""
    point = next(
        point
        for point in of("closed")
        if (point.row["gpu"], point.row["prompt"], point.row["output"])
        == ("H100-80GB", "200", "2000")
    )
    assert 150 < point.replica.room <= 205
