"""The cache of keys and values, latent vectors and recurrent states."""

from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    LinearMixer,
    Mixer,
)
from gpufleet.models.formats import KV_FORMATS, KvFormat
from gpufleet.models.parallel import Parallelism, heads_per_gpu, stage_layers

BLOCK_TOKENS = 16
"""Engines assign the cache in blocks of this many tokens per sequence."""
_SCALE_BYTES = 4
_SPARSE_GROUP = 128
_STATE_BYTES = 4
"""Recurrent states are kept in FP32."""


def round_to_blocks(tokens: int) -> int:
    """Tokens a sequence occupies once its last block is whole."""
    return -(-tokens // BLOCK_TOKENS) * BLOCK_TOKENS


def _sparse_latent(mixer: LatentAttention) -> Fraction:
    """Bytes of `fp8_ds_mla`, which engines store a sparse latent layer in when the cache is FP8:
    the values in FP8, a scale of four bytes for each 128 of them, the rotary part in BF16; 656 for
    DeepSeek-V3.2 (vllm-project/vllm v1/attention/backends/mla/flashmla_sparse.py,
    `get_kv_cache_shape`; sgl-project/sglang mem_cache/memory_pool.py, `NSATokenToKVPool`)."""
    scales = -(-mixer.kv_rank // _SPARSE_GROUP) * _SCALE_BYTES
    return Fraction(mixer.kv_rank + scales + 2 * mixer.rope_dim)


@lru_cache(maxsize=4096)
def layer_token_bytes(mixer: Mixer, cache: KvFormat, tensor: int = 1) -> Fraction:
    """Bytes one token takes in one layer on one GPU; 0 for layers of constant state.

    K and V count separately (factor 2); a latent vector is one thing, and every tensor rank holds
    all of it.
    """
    if isinstance(mixer, Attention):
        if mixer.reads_other_cache:
            return Fraction(0)
        heads = heads_per_gpu(mixer.kv_heads, tensor)
        elements = mixer.head_dim + (mixer.value_dim or mixer.head_dim)
        per_head = elements * cache.bytes_per_element + 2 * cache.scale_bytes_per_head
        return heads * per_head + mixer.index_dim * cache.bytes_per_element
    if isinstance(mixer, LatentAttention):
        latent = (mixer.kv_rank + mixer.rope_dim) * cache.bytes_per_element
        if mixer.index_dim and cache is KV_FORMATS["fp8"]:
            latent = _sparse_latent(mixer)
        # The indexer's keys are FP8 whatever the cache is, one scale of four bytes a token.
        return latent + (mixer.index_dim + _SCALE_BYTES if mixer.index_dim else 0)
    if isinstance(mixer, CompressedAttention) and mixer.ratio:
        return (mixer.head_dim + mixer.index_dim) * cache.bytes_per_element / mixer.ratio
    return Fraction(0)


def linear_state_bytes(mixer: LinearMixer, tensor: int = 1) -> Fraction:
    """Bytes of one sequence's state in one layer on one GPU."""
    return Fraction(mixer.state_elements * _STATE_BYTES, tensor)


def unknown_start(model: Architecture) -> str | None:
    """Reason why the memory of a model's cache in an engine is unknown; None: it is computed."""
    if not any(isinstance(group.mixer, CompressedAttention) for group in model.groups):
        return None
    return (
        "engines keep windows, compressed entries and indexes of such layers in groups of pages "
        "that have no formula here; vLLM asked for 6.66 GiB for one sequence of 30,000 tokens of "
        "DeepSeek-V4-Flash on two GPUs (vllm-project/vllm#44376)"
    )


def token_bytes(model: Architecture, cache: KvFormat, tensor: int = 1) -> Fraction:
    """Bytes one more token takes in every layer, windows still open; 0 for encoders."""
    if not model.causal:
        return Fraction(0)
    return sum(
        (group.count * layer_token_bytes(group.mixer, cache, tensor) for group in model.groups),
        Fraction(0),
    )


@lru_cache(maxsize=4096)
def sequence_bytes(
    model: Architecture,
    cache: KvFormat,
    tokens: int,
    parallel: Parallelism | None = None,
    chunk: int = 0,
) -> int:
    """Bytes of one sequence of `tokens` tokens on the fullest GPU.

    A sliding-window layer holds min(window + chunk, tokens), where `chunk` is the number of tokens
    that the engine prefills at once. `tokens` is not rounded: round it to blocks before.
    """
    if not model.causal:
        return 0
    parallel = parallel or Parallelism()
    total: Fraction | int = 0
    for group in model.groups:
        mixer = group.mixer
        if isinstance(mixer, Attention) and mixer.window is not None:
            held = min(mixer.window + chunk, tokens)
        else:
            held = tokens
        held = -(-held // parallel.context)
        each = layer_token_bytes(mixer, cache, parallel.tensor)
        # Nearly always whole bytes, and a plan calls this ten thousand times.
        layer = held * (each.numerator if each.denominator == 1 else each)
        if isinstance(mixer, CompressedAttention):
            near = min(mixer.window + chunk, tokens) * mixer.head_dim
            layer += near * cache.bytes_per_element
        elif isinstance(mixer, LinearMixer):
            layer = linear_state_bytes(mixer, parallel.tensor)
        total += group.count * layer
    fullest = stage_layers(model.layers, parallel.pipeline)[0]
    return ceil(total * fullest / model.layers)
