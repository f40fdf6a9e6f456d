"""What a given GPU or slice leaves for the cache, and how many sequences that is."""

from dataclasses import dataclass
from functools import lru_cache
from math import floor

from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine, cache_room, memory_fraction
from gpufleet.models.inference import (
    Serving,
    replica_sequence_bytes,
    serving_ledger,
)
from gpufleet.models.kv_cache import BLOCK_TOKENS, token_bytes
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
    return CacheCapacity(left, tokens, sequences)
