"""Memory that a given GPU or slice leaves for the cache, the number of sequences in it, and whether
an engine starts: yes, no with the engine's reason, or unknown."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor

from gpufleet.findings import Finding, findings_in
from gpufleet.models.architecture import Architecture, LinearMixer
from gpufleet.models.engine_profile import InferenceEngine, cache_room, memory_fraction
from gpufleet.models.inference import Serving, replica_sequence_bytes, serving_ledger
from gpufleet.models.kv_cache import BLOCK_TOKENS, token_bytes, unknown_start
from gpufleet.models.ledger import GIB
from gpufleet.models.parallel import Parallelism, stage_layers
from gpufleet_planner.sizing.engine_caches import BlockLayout, block_layout, sglang_pools
from gpufleet_planner.tables import row_of

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class CacheCapacity:
    """Room of one replica on given GPUs."""

    cache_bytes: int
    """Bytes of cache on each GPU; 0: weights and activations do not fit."""
    tokens: int
    """Tokens the cache holds over all sequences if no window closes; whole blocks."""
    sequences: int
    """Sequences of the stated mean length that run at the same time; 0: not even one of the longest
    fits, so the engine would refuse to start."""
    state_blocks: int | None = None
    """vLLM: blocks for recurrent states, of which each running sequence takes one. The engine
    refuses to start with a larger `max_num_seqs`. None: the model has none, or another engine."""
    needed_bytes: int | None = None
    """vLLM: cache of one sequence of the longest length, in whole blocks of all groups of layers;
    it refuses to start with less. None: another engine."""
    longest: int | None = None
    """vLLM: the longest context with which it starts; SGLang and TensorRT-LLM: the longest request
    that they take. 0: none."""
    refusal: str | None = None
    """vLLM and SGLang: why they cannot divide the cache at all; None: they can."""


_TRTLLM_BLOCK = 32
"""Tokens of a block of TensorRT-LLM's cache (`tokens_per_block`)."""


def not_known(model: Architecture, engine: InferenceEngine) -> str | None:
    """Why it is not known how an engine divides its cache; None where it is computed."""
    unknown = unknown_start(model)
    if unknown is not None or engine is not InferenceEngine.TENSORRT_LLM:
        return unknown
    for group in model.groups:
        if isinstance(group.mixer, LinearMixer) or getattr(group.mixer, "window", None):
            return (
                "TensorRT-LLM has separate pools for windows and states "
                "(`calculate_max_num_blocks_for_vswa`), whose sizes are not computed here"
            )
    return None


@lru_cache(maxsize=4096)
def capacity(
    model: Architecture,
    serving: Serving,
    usable_bytes: int,
    parallel: Parallelism | None = None,
    *,
    worst: bool = False,
) -> CacheCapacity:
    """Free part of `usable_bytes` per GPU: by the engine's rule; for Transformers usable memory
    less weights and workspace. `worst`: less what public starts took besides, at most
    (`data/rooms.csv`: the smaller of `gib` and `part` of the GPU; `tools/fit_starts.py`)."""
    parallel = parallel or Parallelism()
    need = serving_ledger(model, serving, parallel)
    fixed = need.total_bytes - sum(i.bytes for i in need.items if i.key == "kv_cache")
    left = max(usable_bytes - fixed, 0)
    if serving.engine is not InferenceEngine.TRANSFORMERS:
        part = memory_fraction(serving.engine, serving.utilisation, usable_bytes, parallel)
        weights = sum(i.bytes for i in need.items if i.key in ("weights", "dequantised_matrix"))
        left = cache_room(serving.engine, part, usable_bytes, weights, fixed)
        if worst:
            doubt = row_of("rooms", engine=serving.engine.value, **start_kind(model, parallel))
            taken = min(float(doubt["gib"]) * GIB, float(doubt["part"]) * usable_bytes)
            left = max(floor(left - taken), 0)
    per_token = token_bytes(model, serving.kv_cache, parallel.tensor)
    stage = stage_layers(model.layers, parallel.pipeline)[0]
    per_token = per_token * stage / model.layers / parallel.context
    tokens = floor(left / per_token / BLOCK_TOKENS) * BLOCK_TOKENS if per_token else 0
    if serving.engine is InferenceEngine.VLLM:
        layout = block_layout(model, serving.kv_cache, parallel)
        if isinstance(layout, str):
            return CacheCapacity(left, 0, 0, refusal=layout)
        if layout is not None:
            return _in_blocks(layout, serving, left)
    if serving.engine is InferenceEngine.SGLANG:
        pools = sglang_pools(model, serving.kv_cache, parallel, left)
        if pools is not None:
            sequences = pools.sequences(serving.kept_tokens)
            return _shortened(serving, left, pools.tokens, sequences, pools.refusal)
    if serving.engine is InferenceEngine.TENSORRT_LLM and per_token:
        return _shortened(serving, left, floor(left / per_token / _TRTLLM_BLOCK) * _TRTLLM_BLOCK)
    longest = replica_sequence_bytes(model, serving, parallel, serving.context)
    mean = replica_sequence_bytes(model, serving, parallel, serving.kept_tokens)
    sequences = left // mean if mean and left >= longest else 0
    return CacheCapacity(left, tokens, sequences)


def _shortened(
    serving: Serving,
    left: int,
    tokens: int,
    sequences: int | None = None,
    refusal: str | None = None,
) -> CacheCapacity:
    """Room of an engine that starts with less than the context, and takes no longer request than
    its cache holds: SGLang, and TensorRT-LLM (NVIDIA/TensorRT-LLM @ d2a5560,
    `_torch/pyexecutor/resource_manager.py`, `_validate_and_adjust_attention_windows`)."""
    whole = -(-serving.kept_tokens // _TRTLLM_BLOCK) * _TRTLLM_BLOCK
    found = tokens // whole if sequences is None else sequences
    fits = refusal is None and tokens >= serving.context
    longest = min(tokens, serving.context)
    return CacheCapacity(left, tokens, found if fits else 0, longest=longest, refusal=refusal)


def _in_blocks(layout: BlockLayout, serving: Serving, left: int) -> CacheCapacity:
    """The use that vLLM makes of a number of bytes."""
    blocks, in_flight = layout.blocks(left), layout.steps * serving.step_tokens
    longest = layout.needed(serving.context, in_flight)
    each = layout.needed(serving.kept_tokens, in_flight)
    needed = ceil(longest * layout.page_bytes)
    sequences = blocks // each if blocks >= longest else 0
    states = blocks if any(kind.state_bytes for kind, _ in layout.groups) else None
    most = serving.context if sequences else layout.longest(left, serving.context, in_flight)
    return CacheCapacity(left, layout.tokens(left), sequences, states, needed, most)


def started_sequences(serving: Serving, room: CacheCapacity) -> int:
    """The largest `max_num_seqs` up to the stated one with which the engine starts."""
    if room.state_blocks is None:
        return serving.max_sequences
    return max(min(serving.max_sequences, room.state_blocks), 1)


def refusal_of(model: Architecture, serving: Serving, room: CacheCapacity) -> Finding | None:
    """Why an engine refuses to divide its cache or serves no request of the context, in its own
    terms."""
    sglang = serving.engine is InferenceEngine.SGLANG
    if room.refusal is not None:
        return _finding(
            "engine-refuses-model",
            fix="weights or cache in fewer bits, or more GPUs" if sglang else "use another engine",
            engine="SGLang" if sglang else "vLLM",
            model=model.name,
            refusal=room.refusal,
        )
    who = "SGLang" if sglang else "TensorRT-LLM"
    if room.needed_bytes is None and room.longest is not None and room.longest < serving.context:
        return _finding(
            "engine-refuses-context/requests", value=serving.context, limit=room.longest, who=who
        )
    if room.needed_bytes is None or not 0 < room.cache_bytes < room.needed_bytes:
        return None
    shorter = f"a context of at most {room.longest}, " if room.longest else ""
    return _finding(
        "engine-refuses-context/start",
        value=room.needed_bytes,
        limit=room.cache_bytes,
        context=serving.context,
        needed_gib=f"{room.needed_bytes / GIB:.2f}",
        cache_gib=f"{room.cache_bytes / GIB:.2f}",
        shorter=shorter,
    )


def starts(
    model: Architecture, serving: Serving, room: CacheCapacity | None, findings: list[Finding]
) -> bool | None:
    """Whether an engine starts with a model that has the memory; None: not known."""
    unknown = not_known(model, serving.engine)
    if unknown is not None:
        findings.append(
            _finding(
                "engine-start-not-known", engine=serving.engine, model=model.name, reason=unknown
            )
        )
        return None
    # Only the capture of graphs needs a block for each sequence (vllm-project/vllm#38270).
    blocks = room.state_blocks if room is not None and serving.graphs else None
    if blocks is None or serving.max_sequences <= blocks:
        return True
    findings.append(
        _finding(
            "engine-refuses-sequences", value=serving.max_sequences, limit=blocks, model=model.name
        )
    )
    return False


def start_kind(model: Architecture, parallel: Parallelism) -> dict[str, str]:
    """What selects a row of `data/rooms.csv`, with the engine."""
    mixers = [group.mixer for group in model.groups]
    states = any(isinstance(one, LinearMixer) and one.state_elements for one in mixers)
    alone = parallel.serving_gpus == 1
    return {"gpus": "alone" if alone else "group", "kind": "states" if states else "plain"}


def unsure(model: Architecture, serving: Serving, worst: CacheCapacity) -> Finding | None:
    """A note where an engine that starts with the computed room does not with that at worst. vLLM
    measures context and CUDA graphs at its start (@ 055e47c, foundation/utilities/mem_utils.py,
    `memory_profiling`), and no formula gives them."""
    enough = worst.sequences >= serving.batch and refusal_of(model, serving, worst) is None
    if enough and starts(model, serving, worst, []):
        return None
    return _finding(
        "engine-start-unsure",
        value=worst.cache_bytes,
        engine=serving.engine,
        worst_gib=f"{worst.cache_bytes / GIB:.1f}",
    )
