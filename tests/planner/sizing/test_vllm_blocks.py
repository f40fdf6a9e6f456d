"""vLLM's cache in blocks compared with results of vLLM's own functions.

tests/data/vllm_blocks.jsonl: `get_kv_cache_groups`, `_pool_bytes_per_block` and
`_max_memory_usage_bytes_from_groups` of the wheels of vLLM 0.31.0, 0.32.0 and 0.33.0, which agree,
called without a GPU with the layers of each catalogue model in BF16 (16 tokens a block, the default
layout of layers; torch's types replaced by their sizes), on 2026-11-28.
"""

import json
from math import ceil
from pathlib import Path
from typing import Any

from gpufleet.catalogue import load
from gpufleet.models.architecture import Architecture, Attention, LatentAttention, LayerGroup
from gpufleet.models.formats import KV_FORMATS
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.engine_caches import BlockLayout, block_layout
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size
from tests.planner.sizing.measurements import model

FILE = Path(__file__).parents[2] / "data" / "vllm_blocks.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
BF16 = KV_FORMATS["bf16"]


def test_groups_blocks_and_the_need_of_one_request_are_those_of_vllm() -> None:
    assert len(ROWS) == 134
    for row in ROWS:
        layout = block_layout(model(row["model"]), BF16, Parallelism(tensor=row["tensor"]))
        assert isinstance(layout, BlockLayout), row
        needed = ceil(layout.needed(row["tokens"], row["in_flight"]) * layout.page_bytes)
        found = len(layout.groups), layout.blocks(row["cache_bytes"]), needed
        assert found == (row["groups"], row["blocks"], row["needed_bytes"]), row


def shape(*groups: LayerGroup) -> Architecture:
    return Architecture("made", 1024, 1000, True, groups, Basis.MODELLED, "a test")


def test_latent_layers_beside_others_of_odd_pages_are_refused() -> None:
    """unify_kv_cache_spec_page_size: only attention that is not latent can be padded."""
    latent = LayerGroup(4, LatentAttention(8, None, 512, 64, 128, 128), None)
    window = LayerGroup(4, Attention(6, 3, 128, window=1024), None)
    found = block_layout(shape(latent, window), BF16, Parallelism())
    assert found == "the page of its latent layers does not divide that of the others"


def test_attention_of_odd_pages_is_padded() -> None:
    """Three heads of 128 and two: a page of the smaller keeps its 16 tokens in the larger one."""
    full = LayerGroup(4, Attention(6, 3, 128), None)
    window = LayerGroup(4, Attention(6, 2, 128, window=1024), None)
    found = block_layout(shape(full, window), BF16, Parallelism())
    assert isinstance(found, BlockLayout)
    assert found.page_bytes == 4 * 16 * 2 * 3 * 128 * 2
    assert [each for _, each in found.groups] == [16, 16]


def test_a_context_that_vllm_refuses_is_named_with_the_longest_that_starts() -> None:
    """vLLM's own refusal: cache of one sequence of the longest length against what is left."""
    row = {"model": "Llama-3.1-8B", "engine": "vllm", "gpu": "L4", "weights": "fp8"}
    refused = size(SizeRequest.model_validate({**row, "context": 131072}), load())
    (found,) = [f for f in refused.findings if f.code == "engine-refuses-context"]
    assert refused.fits is False
    assert refused.capacity is not None
    # 131,072 tokens of 32 layers x 2 x 8 heads x 128 x 2 B.
    assert refused.capacity.needed_bytes == 16 << 30
    assert "one sequence of 131072 tokens needs 16.00 GiB of cache" in found.message
    longest = refused.capacity.longest
    assert longest is not None
    assert f"a context of at most {longest}" in (found.fix or "")
    again = size(SizeRequest.model_validate({**row, "context": longest}), load())
    assert not [f for f in again.findings if f.code == "engine-refuses-context"]
