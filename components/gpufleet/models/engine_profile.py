"""Inference engines: which part of a GPU their cache may have."""

from enum import StrEnum
from fractions import Fraction
from functools import cache
from math import floor

from gpufleet.catalogue import load
from gpufleet.catalogue.serving_engine import CacheRule, ServingEngine
from gpufleet.models.parallel import Parallelism

_MIB, _GIB = 1 << 20, 1 << 30


class InferenceEngine(StrEnum):
    """Program that runs the model."""

    TRANSFORMERS = "transformers"
    """Hugging Face Transformers `generate`: the cache grows with the batch, nothing is reserved."""
    VLLM = "vllm"
    """V1. Reserves a share of the GPU, and assigns blocks of the rest after the weights."""
    VLLM_V0 = "vllm-v0"
    """The engine of releases up to 0.10."""
    TENSORRT_LLM = "tensorrt-llm"
    """Takes a share of the memory that weights and one forward pass leave free."""
    SGLANG = "sglang"
    """Takes weights and cache from a share of the memory that is free at the start."""


@cache
def profile_of(engine: InferenceEngine) -> ServingEngine:
    """The engine's row of the catalogue. Transformers has none."""
    return load().engines[engine.value]


def memory_fraction(
    engine: InferenceEngine, stated: Fraction | None, usable_bytes: int, parallel: Parallelism
) -> Fraction:
    """The engine's memory fraction on a GPU: as stated, else its default.

    SGLang keeps 512 MiB, 1.5 MiB for each prompt token of a step, 2 MiB for each sequence of the
    largest CUDA graph and 128 MiB for each GPU of the replica, at least 10 GiB above 60 GiB.
    """
    profile = profile_of(engine)
    default = profile.default_of(usable_bytes)
    if stated is not None or default is None:
        return stated or profile.fraction or Fraction(1)
    wide = parallel.tensor >= 4
    graphs = default.wide_graph_sequences if wide else default.graph_sequences
    each = 512 + Fraction(3, 2) * default.step_tokens + 2 * graphs + 128 * parallel.serving_gpus
    kept = each * _MIB
    if usable_bytes > 60 * _GIB:
        kept = max(kept, Fraction(10 * _GIB))
    return max(round(1 - kept / usable_bytes, 3), Fraction(0))


def step_tokens(engine: InferenceEngine, stated: int, usable_bytes: int) -> int:
    """Prompt tokens of one step on a GPU: as stated, and no more than the engine's default there,
    for which its memory fraction leaves room."""
    default = profile_of(engine).default_of(usable_bytes)
    return stated if default is None else min(stated, default.step_tokens)


def cache_room(
    engine: InferenceEngine, fraction: Fraction, usable_bytes: int, weights: int, fixed: int
) -> int:
    """Bytes of cache on a GPU. `fixed`: everything but the cache, weights included."""
    profile = profile_of(engine)
    left = usable_bytes - fixed
    if profile.cache_rule is CacheRule.GPU:
        left = floor(usable_bytes * fraction) - fixed
    elif profile.cache_rule is CacheRule.LEFT:
        left = floor(left * fraction)
    else:
        free = usable_bytes - profile.before_bytes
        # If the rest of the GPU is too small, the first large step fails, not the start.
        left = min(floor(free * fraction) - weights, left)
    return max(left, 0)
