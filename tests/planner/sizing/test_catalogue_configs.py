"""Models whose rows have their own config.json: the shape gives what their makers publish."""

from dataclasses import replace

import pytest

from gpufleet.catalogue import Model, load
from gpufleet.models.architecture import LinearMixer
from gpufleet.models.catalogue_models import find_catalogue_model
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.config_quantisation import stored_format
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size
from tests.data.test_model_sizes import CONFIGS
from tests.planner.sizing.measurements import model as catalogue_model

CATALOGUE = load()
ROWS = list(CATALOGUE.models.values())

PUBLISHED = {
    # Billions, by the makers' names and model cards.
    "Qwen3-Coder-480B-A35B": (480, 35),
    "Qwen3-Next-80B-A3B": (80, 3),
    "Qwen3.5-397B-A17B": (397, 17),
    "Qwen3.5-35B-A3B": (35, 3),
    "Qwen3-VL-30B-A3B": (31, 3),
    "Qwen3-VL-235B-A22B": (236, 22),
    "DeepSeek-V3.2": (671, 37),
    "GLM-5": (744, 40),
    "Kimi-K2-Instruct": (1026, 32),
    "GLM-4.7": (355, 32),
    "GLM-4.7-Flash": (30, 3),
    "MiniMax-M2": (229, 10),
    "Olmo-3-7B": (7.3, 7.3),
    "Olmo-3-32B": (32.2, 32.2),
    "Gemma-4-31B": (31.3, 30.7),
    "Gemma-4-26B-A4B": (25.8, 3.8),
    "Nemotron-H-8B": (8.1, 8.1),
}


def test_there_are_models_of_the_last_year() -> None:
    assert len(ROWS) >= 20
    assert set(PUBLISHED) <= {row.name for row in ROWS}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_shape_gives_the_published_parameters(name: str) -> None:
    model = catalogue_model(name)
    counted = count_parameters(replace(model, stated_parameters=None, stated_active=None))
    total, active = PUBLISHED[name]
    assert counted.total / 1e9 == pytest.approx(total, rel=0.011)
    # Vendors round active parameters down, and omit the input embedding.
    assert active * 0.97 <= counted.active / 1e9 <= active * 1.31


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_one_is_found_by_the_names_of_the_hub_and_sized(row: Model) -> None:
    for hub in row.hub:
        found = find_catalogue_model(hub, CATALOGUE)
        assert getattr(found, "name", found) == row.name
    ask = {"model": row.name, "context": 8192, "gpu": "B300"}
    answer = size(SizeRequest.model_validate(ask), CATALOGUE)
    assert not [f for f in answer.findings if f.severity == "error" and "unknown" in f.code]


@pytest.mark.parametrize(
    ("name", "caching", "layers"),
    [("Qwen3-Next-80B-A3B", 12, 48), ("Qwen3.5-397B-A17B", 15, 60), ("Qwen3.5-35B-A3B", 10, 40)],
)
def test_layers_with_a_state_are_told_from_those_with_a_cache(
    name: str, caching: int, layers: int
) -> None:
    model = catalogue_model(name)
    states = sum(g.count for g in model.groups if isinstance(g.mixer, LinearMixer))
    assert (model.layers - states, model.layers) == (caching, layers)


RELEASED = [
    pytest.param(row, hub, id=hub)
    for row in CATALOGUE.models.values()
    for hub in row.hub
    if hub in CONFIGS
]
"""Rows whose repository has a stored config.json."""


@pytest.mark.parametrize(("row", "hub"), RELEASED)
def test_a_row_has_the_format_of_its_own_config(row: Model, hub: str) -> None:
    if hub == "moonshotai/Kimi-K2-Thinking":
        pytest.skip("the stored copy has no section of quantisation")
    _, fields = architecture_from_config(CONFIGS[hub], hub, "test")
    found = stored_format(fields)
    assert row.released_weights == (None if found == "bf16" else found)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_config_of_a_row_agrees_with_its_format(row: Model) -> None:
    _, fields = architecture_from_config(row.config, row.name, "test")
    found = stored_format(fields)
    assert found in (None, row.released_weights)
