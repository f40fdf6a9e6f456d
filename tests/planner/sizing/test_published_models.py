"""Parameters and cache of well-known models against their model cards, from config.json alone.

`published_models.jsonl` holds configurations reduced to the shape, the parameters that the card
shows for the safetensors files, the cache in BF16 per token, and the vendor's own figure of active
parameters where it publishes one (some omit the embeddings). Published by their vendors on the
Hugging Face Hub, read up to 2026-11-21.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.formats import KV_FORMATS
from gpufleet.models.kv_cache import token_bytes
from gpufleet.models.parameters import count_parameters

LINES = Path(__file__).with_suffix("").with_name("published_models.jsonl").read_text().splitlines()
CARDS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
TOLERANCE = 0.002
"""Biases and per-head norms are left out; vision towers are estimated."""


def named(card: dict[str, Any]) -> str:
    return card["name"]


@pytest.mark.parametrize("card", CARDS, ids=named)
def test_parameters_and_cache_are_those_of_the_model_card(card: dict[str, Any]) -> None:
    model, fields = architecture_from_config(card["config"], card["name"], "card")
    assert model is not None, fields.findings
    assert fields.findings == []
    assert count_parameters(model).total == pytest.approx(card["parameters"], rel=TOLERANCE)
    assert token_bytes(model, KV_FORMATS["bf16"]) == card["kv_bytes"]


@pytest.mark.parametrize("card", [c for c in CARDS if "active_billion" in c], ids=named)
def test_active_parameters_are_the_vendors_give_or_take_embeddings(card: dict[str, Any]) -> None:
    model, _ = architecture_from_config(card["config"], card["name"], "card")
    assert model is not None
    count = count_parameters(model)
    assert (count.active - count.embeddings) / 1e9 <= card["active_billion"] * 1.12
    assert count.active / 1e9 >= card["active_billion"] * 0.95


def test_at_least_fifty_models_are_compared() -> None:
    assert len(set(map(named, CARDS))) >= 50
    assert len({card["config"]["model_type"] for card in CARDS}) >= 30
