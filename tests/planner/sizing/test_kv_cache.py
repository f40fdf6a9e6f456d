from dataclasses import replace

from gpufleet.models.architecture import FeedForward, LayerGroup, LinearMixer
from gpufleet.models.formats import KV_FORMATS
from gpufleet.models.kv_cache import round_to_blocks, sequence_bytes, token_bytes
from gpufleet.models.parallel import Parallelism
from tests.planner.sizing.measurements import model

BF16 = KV_FORMATS["bf16"]


def test_eight_billion_take_128_kib_a_token() -> None:
    assert token_bytes(model("Llama-3.1-8B"), BF16) == 131_072
    assert token_bytes(model("Llama-3.1-8B"), KV_FORMATS["fp8"]) == 65_536


def test_latent_attention_has_no_factor_two() -> None:
    assert token_bytes(model("DeepSeek-V3"), BF16) == 61 * (512 + 64) * 2


def test_tensor_ranks_share_heads_until_there_is_one_each() -> None:
    each = [token_bytes(model("Llama-3.1-8B"), BF16, tensor) for tensor in (1, 2, 8, 16)]
    assert each == [131_072, 65_536, 16_384, 16_384]
    assert token_bytes(model("DeepSeek-V3"), BF16, 8) == 70_272


def test_windows_close() -> None:
    gemma = model("Gemma-3-27b")
    short, long = (sequence_bytes(gemma, BF16, tokens) for tokens in (1024, 131_072))
    assert short == 1024 * 507_904
    full = 62 // 6
    per_layer = 507_904 // 62
    assert long == per_layer * (full * 131_072 + (62 - full) * 1024)
    # What the engine prefills at once is held as well.
    assert sequence_bytes(gemma, BF16, 131_072, chunk=8192) > long


def test_scales_are_counted() -> None:
    plain, scaled = (
        token_bytes(model("Llama-3.1-8B"), KV_FORMATS[name])
        for name in ("fp8", "fp8-per-token-head")
    )
    assert scaled - plain == 2 * 32 * 8 * 4


def test_a_linear_layer_holds_a_constant_state() -> None:
    llama = model("Llama-3.1-8B")
    layer = LayerGroup(4, LinearMixer(1000, 5000, 64), FeedForward(1024))
    found = replace(llama, groups=(layer,))
    assert sequence_bytes(found, BF16, 16) == sequence_bytes(found, BF16, 1 << 20) == 4 * 5000 * 4


def test_pipeline_and_context_ranks_share_the_cache() -> None:
    llama = model("Llama-3.1-8B")
    whole = sequence_bytes(llama, BF16, 8192)
    assert sequence_bytes(llama, BF16, 8192, Parallelism(pipeline=4, context=2)) == whole // 8
    assert sequence_bytes(llama, BF16, 8192, Parallelism(pipeline=5)) == whole * 7 // 32


def test_blocks_are_whole() -> None:
    assert [round_to_blocks(n) for n in (1, 16, 17)] == [16, 16, 32]
