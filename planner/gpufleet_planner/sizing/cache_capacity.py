"""What a given GPU or slice leaves for the cache, and how many sequences that is."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from gpufleet.models.architecture import Architecture, LinearMixer
from gpufleet.models.engine_profile import InferenceEngine, cache_room, memory_fraction
from gpufleet.models.inference import (
    Serving,
    replica_sequence_bytes,
    serving_ledger,
)
from gpufleet.models.kv_cache import (
    BLOCK_TOKENS,
    layer_token_bytes,
    linear_state_bytes,
    token_bytes,
)
from gpufleet.models.parallel import Parallelism, stage_layers


@dataclass(frozen=True, slots=True)
class CacheCapacity:
    """Room of one replica on given GPUs."""

    cache_bytes: int
    """Bytes of cache on each GPU; 0: not even weights and activations fit."""
    tokens: int
    """Tokens the cache holds over all sequences if no window closes; whole blocks."""
    sequences: int
    """Sequences of the stated mean length that run at the same time; 0: not even one of the longest
    fits, so the engine would refuse to start."""
    state_blocks: int | None = None
    """vLLM: blocks for recurrent states, of which each running sequence takes one. The engine
    refuses to start with a larger `max_num_seqs`. None: the model has none, or another engine."""


@lru_cache(maxsize=4096)
def capacity(
    model: Architecture,
    serving: Serving,
    usable_bytes: int,
    parallel: Parallelism | None = None,
) -> CacheCapacity:
    """What is left of `usable_bytes` per GPU: by the engine's rule, and usable less weights and
    workspace for Transformers."""
    parallel = parallel or Parallelism()
    need = serving_ledger(model, serving, parallel)
    fixed = need.total_bytes - sum(i.bytes for i in need.items if i.key == "kv_cache")
    left = max(usable_bytes - fixed, 0)
    if serving.engine is not InferenceEngine.TRANSFORMERS:
        part = memory_fraction(serving.engine, serving.utilisation, usable_bytes, parallel)
        weights = sum(i.bytes for i in need.items if i.key in ("weights", "dequantised_matrix"))
        left = cache_room(serving.engine, part, usable_bytes, weights, fixed)
    per_token = token_bytes(model, serving.kv_cache, parallel.tensor)
    stage = stage_layers(model.layers, parallel.pipeline)[0]
    per_token = per_token * stage / model.layers / parallel.context
    tokens = floor(left / per_token / BLOCK_TOKENS) * BLOCK_TOKENS if per_token else 0
    longest = replica_sequence_bytes(model, serving, parallel, serving.context)
    mean = replica_sequence_bytes(model, serving, parallel, serving.kept_tokens)
    sequences = left // mean if mean and left >= longest else 0
    return CacheCapacity(left, tokens, sequences, _state_blocks(model, serving, left, parallel))


def _state_blocks(
    model: Architecture, serving: Serving, cache_bytes: int, parallel: Parallelism
) -> int | None:
    """Blocks of a hybrid model's cache in vLLM V1: pages of all layers are alike, and the layers of
    one kind are divided into groups of as many layers as the rarest kind has (vllm-project/vllm
    v1/core/kv_cache_utils.py, `_get_kv_cache_groups_uniform_page_size`); attention takes as many
    tokens to a page as a state has room for (model_executor/models/config.py)."""
    mixers = [group.mixer for group in model.groups]
    states = [one for one in mixers if isinstance(one, LinearMixer) and one.state_elements]
    if serving.engine is not InferenceEngine.VLLM or not states:
        return None
    kinds: dict[object, int] = {}
    page = max(linear_state_bytes(one, parallel.tensor) for one in states)
    step = Fraction(0)
    for group in model.groups:
        if isinstance(group.mixer, LinearMixer):
            kind = "state" if group.mixer.state_elements else None
        else:
            kind = getattr(group.mixer, "window", None), type(group.mixer)
            tokens = layer_token_bytes(group.mixer, serving.kv_cache, parallel.tensor)
            step = max(step, BLOCK_TOKENS * tokens)
        if kind is not None:
            kinds[kind] = kinds.get(kind, 0) + group.count
    if step:
        page = ceil(page / step) * step
    return floor(cache_bytes / (page * ceil(min(kinds.values()) / parallel.pipeline)))


def started_sequences(serving: Serving, room: CacheCapacity) -> int:
    """The largest `max_num_seqs` up to the stated one with which the engine starts."""
    if room.state_blocks is None:
        return serving.max_sequences
    return max(min(serving.max_sequences, room.state_blocks), 1)
