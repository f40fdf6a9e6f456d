from fractions import Fraction

import pytest

from gpufleet.catalogue import load
from gpufleet.sizing import (
    KV_FORMATS,
    WEIGHT_FORMATS,
    Architecture,
    count_parameters,
    from_catalogue,
    token_bytes,
)
from gpufleet.sizing.weights import weight_bytes
from tests.unit.sizing.measurements import GIB, model

CATALOGUE = load()


@pytest.mark.parametrize("name", CATALOGUE.models)
def test_every_model_of_the_catalogue_counts_up(name: str) -> None:
    row = CATALOGUE.models[name]
    found = from_catalogue(row, CATALOGUE.edition)
    count = count_parameters(found)
    assert count.total == pytest.approx(row.parameters, rel=0.01)
    # Two digits are all the table has of the smallest figures.
    assert count.active == pytest.approx(row.active_parameters, rel=0.017)
    assert token_bytes(found, KV_FORMATS["bf16"]) == row.kv_bytes_per_token


def test_a_total_that_the_shape_misses_is_taken_from_the_table_and_said() -> None:
    found = model("Llama-4-Maverick")
    assert count_parameters(found).total == 400_700_000_000
    assert found.assumptions[0].startswith("the published total of 400700000000 parameters is used")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fp32", Fraction(4)),
        ("bf16", Fraction(2)),
        ("fp8", Fraction(1)),
        ("int8", Fraction(1)),
        ("awq-int4", Fraction(5195, 10_000)),
        ("gptq-int4", Fraction(5195, 10_000)),
        ("nf4", Fraction(5625, 10_000)),
        ("nf4-double", Fraction(5159, 10_000)),
        ("mxfp4", Fraction(53125, 100_000)),
        ("nvfp4", Fraction(5625, 10_000)),
    ],
)
def test_bytes_of_a_quantised_parameter(name: str, expected: Fraction) -> None:
    found = WEIGHT_FORMATS[name].bytes_per_parameter
    assert round(found, 4) == round(expected, 4)


@pytest.mark.parametrize(("name", "gib"), [("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.7)])
def test_mixtures_quantise_their_experts_only(name: str, gib: float) -> None:
    stored = weight_bytes(model(name), WEIGHT_FORMATS["mxfp4"]).stored
    assert stored / GIB == pytest.approx(gib, rel=0.005)


def test_a_head_stored_apart_costs_its_size() -> None:
    fp8 = WEIGHT_FORMATS["fp8"]
    together = weight_bytes(model("Qwen3-4B"), fp8, head_apart=False).stored
    apart = weight_bytes(model("Qwen3-4B"), fp8).stored
    assert apart - together == 151_936 * 2560 * 2
    assert round((apart - together) / (1 << 20)) == 742


def test_one_billion_parameters_are_two_gigabytes() -> None:
    found = weight_bytes(model("Llama-3.1-8B"), WEIGHT_FORMATS["bf16"]).stored
    assert found == 2 * count_parameters(model("Llama-3.1-8B")).total


@pytest.mark.parametrize("name", CATALOGUE.models)
def test_no_format_is_larger_than_the_next_wider(name: str) -> None:
    found: Architecture = model(name)
    for form in WEIGHT_FORMATS.values():
        if form.wider is not None:
            own, wider = (weight_bytes(found, f) for f in (form, WEIGHT_FORMATS[form.wider]))
            assert own.stored + own.working_copy <= wider.stored + wider.working_copy + 1, form
