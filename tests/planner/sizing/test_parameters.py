from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import pytest

from gpufleet.catalogue import Catalogue, load
from gpufleet.findings import Finding
from gpufleet.models.architecture import Architecture
from gpufleet.models.catalogue_models import find_catalogue_model
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.kv_cache import token_bytes
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.sizing.model_choice import ChosenModel, choose_model
from gpufleet_planner.sizing.request import SizedWorkload
from tests.planner.sizing.measurements import GIB, model

CATALOGUE = load()


@pytest.mark.parametrize("name", CATALOGUE.models)
def test_every_model_of_the_catalogue_counts_up(name: str) -> None:
    row = CATALOGUE.models[name]
    found = model(row.name)
    count = count_parameters(found)
    assert count.total == pytest.approx(row.parameters, rel=0.01)
    # Two digits are all the table has of the smallest figures.
    # The publisher of gpt-oss leaves out the input embedding, which only looks up.
    lookup = row.vocabulary * row.hidden if name.startswith("gpt-oss") else 0
    if "architectures" not in row.config:  # names such as A3B are rounded
        assert count.active - lookup == pytest.approx(row.active_parameters, rel=0.017)
    assert token_bytes(found, KV_FORMATS["bf16"]) == row.kv_bytes_per_token


def test_a_total_that_the_shape_misses_is_taken_from_the_table_and_said() -> None:
    row = replace(CATALOGUE.models["Llama-3.1-8B"], parameters=9_000_000_000)
    changed = SimpleNamespace(models={row.name: row}, model=lambda _: row, edition="test")
    found = find_catalogue_model(row.name, cast("Catalogue", changed))
    assert isinstance(found, Architecture)
    assert count_parameters(found).total == 9_000_000_000
    assert found.assumptions[0].startswith("the published total of 9000000000 parameters is used")


@pytest.mark.parametrize(
    ("name", "total", "active"),
    [
        ("Llama-4-Maverick", 401_528_731_136, 17_184_691_200),
        ("DeepSeek-V2", 235_741_312_000, 21_375_677_440),
        ("DeepSeek-V2-Lite", 15_706_470_400, 2_661_136_384),
    ],
)
def test_layers_that_are_dense_in_a_mixture_are_counted_as_such(
    name: str, total: int, active: int
) -> None:
    count = count_parameters(model(name))
    assert (count.total, count.active) == (total, active)
    assert not [note for note in model(name).assumptions if "published total" in note]


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
    together = weight_bytes(model("Qwen3-4B"), fp8).stored
    apart = weight_bytes(model("Qwen3-4B"), fp8, head_apart=True).stored
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


@pytest.mark.parametrize(
    ("hub", "name"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3.1-8B", "Llama-3.1-8B"),
        ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "TinyLlama-1.1B"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-v0.3"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "Mixtral-8x7B"),
        ("google/gemma-2-9b-it", "Gemma-2-9b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B"),
        ("deepseek-ai/DeepSeek-V3-0324", "DeepSeek-V3"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "Llama-3.1-8B"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "Llama-4-Scout"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "Llama-3.3-70B"),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", "Qwen2.5-32B"),
    ],
)
def test_names_of_releases_on_the_hub_are_understood(hub: str, name: str) -> None:
    found = find_catalogue_model(hub, CATALOGUE)
    assert isinstance(found, Architecture), found
    assert found.name == name


@pytest.mark.parametrize(
    ("hub", "name", "weights"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen2.5-7B", "awq-int4"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen3-30B-A3B", "fp8"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "Llama-3.1-8B", "gptq-int4"),
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "Llama-4-Maverick", "fp8"),
    ],
)
def test_a_release_says_its_format_in_its_name(hub: str, name: str, weights: str) -> None:
    found = choose_model(hub, CATALOGUE)
    assert isinstance(found, ChosenModel), found
    assert (found.architecture.name, found.released_weights) == (name, weights)
    assert [f.code for f in found.findings] == ["model-format-from-name"]
    assert found.default_weights(SizedWorkload.LORA) is None


def test_every_model_has_a_repository_that_names_it() -> None:
    for row in CATALOGUE.models.values():
        assert row.hub, row.name
        for hub in row.hub:
            found = find_catalogue_model(hub, CATALOGUE)
            assert isinstance(found, Architecture), hub
            assert found.name == row.name


@pytest.mark.parametrize(
    "hub", ["Qwen/Qwen2.5-7B-Instruct-AWQ", "mistralai/Mistral-7B-v0.1", "x/Llama-3.1-9B", ""]
)
def test_what_is_another_shape_or_format_is_no_guess(hub: str) -> None:
    found = find_catalogue_model(hub, CATALOGUE)
    assert isinstance(found, Finding)
    assert found.code == "model-unknown"
