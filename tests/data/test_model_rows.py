"""Rows of the model table come from the models' own files, read by one importer.

`tools/catalogue/model_row.py` writes a row; here the stored files of `model_sizes.jsonl` and
`published_models.jsonl` are read again and compared with the rows there are.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import Model, load
from tests.data.test_model_sizes import CONFIGS
from tools.catalogue.model_row import NoRowError, model_row

CATALOGUE = load()
PAIRS = [
    pytest.param(row, hub, id=hub)
    for row in CATALOGUE.models.values()
    for hub in row.hub
    if hub in CONFIGS
]
WITHOUT_FORMAT = ("moonshotai/Kimi-K2-Thinking",)
"""Stored copies that lack the section of quantisation; the row names another source for it."""
CARDS = Path(__file__).parents[1] / "planner" / "sizing" / "published_models.jsonl"
EMBEDDING = {"bge-large-en-v1.5": "bge-large-en", "bge-m3": "bge-m3"}


def test_every_row_has_the_source_of_its_architecture_and_of_its_format() -> None:
    for row in CATALOGUE.models.values():
        assert row.weights_source in CATALOGUE.sources, row.name
        assert row.source.key in CATALOGUE.sources, row.name
        assert row.layers, row.name
        assert row.hub, row.name


@pytest.mark.parametrize(("row", "hub"), PAIRS)
def test_the_importer_reads_the_row_that_there_is(row: Model, hub: str) -> None:
    found = model_row(CONFIGS[hub], row.name, row.hub, row.source.key)
    if hub not in WITHOUT_FORMAT:
        assert found.get("released_weights") == row.released_weights
    total = float(found["parameters_billion"]) * 1e9
    assert total == pytest.approx(row.parameters, rel=0.02)
    if row.kv_bytes_per_token:
        assert found["kv_bytes_per_token"] == row.kv_bytes_per_token


@pytest.mark.parametrize("name", EMBEDDING)
def test_embedding_models_are_rows_with_the_parameters_of_their_cards(name: str) -> None:
    cards: dict[str, Any] = {
        card["name"]: card for card in map(json.loads, CARDS.read_text("utf-8").splitlines())
    }
    card = cards[EMBEDDING[name]]
    row = CATALOGUE.model(name)
    assert row.parameters == pytest.approx(card["parameters"], rel=1e-3)
    assert row.kv_bytes_per_token == 0


def test_a_file_without_an_architecture_gives_no_row() -> None:
    with pytest.raises(NoRowError, match="its architecture cannot be read"):
        model_row({"model_type": "unheard-of"}, "made", (), "test")


def test_a_file_with_an_unknown_format_gives_no_row() -> None:
    config = {**CONFIGS["Qwen/Qwen3-8B"], "quantization_config": {"quant_method": "unheard-of"}}
    with pytest.raises(NoRowError):
        model_row(config, "made", (), "test")
