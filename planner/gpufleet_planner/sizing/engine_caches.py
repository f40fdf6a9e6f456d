"""Division of the cache by engines: vLLM V1 in blocks of layer groups, SGLang in pools of tokens.

vLLM 0.31 to 0.33, `vllm/v1/core/kv_cache_utils.py` (from 0.33 on `kv_cache_planning.py`):
`get_kv_cache_groups`, `unify_kv_cache_spec_page_size`, `_get_kv_cache_groups_uniform_page_size`,
`_max_memory_usage_bytes_from_groups`; `vllm/v1/kv_cache_interface.py`: pages and blocks of each
kind of layer; vllm-project/vllm @ 001cabc has the same. tests/data/vllm_blocks.jsonl holds answers
of these functions. Layouts with the blocks outermost, which few backends have, are not counted.

sgl-project/sglang @ 003fca8, `srt/model_executor/pool_configurator.py` (default and
`HybridSWAPoolConfigurator`) and `srt/mem_cache/kv_cache_configurator.py`
(`_handle_max_mamba_cache`, `_calculate_mamba_ratio`). The parts of the pools are the defaults of
`--swa-full-tokens-ratio` and `--mamba-full-memory-ratio`. A request may be as long as the pool of
tokens (`managers/tp_worker.py`, `max_req_len`): with less the server starts, and refuses longer
ones.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    LinearMixer,
)
from gpufleet.models.formats import KvFormat
from gpufleet.models.kv_cache import BLOCK_TOKENS, layer_token_bytes, linear_state_bytes
from gpufleet.models.parallel import Parallelism, stage_layers

_PADDED = Fraction(3, 2)
"""Below this ratio of the layers of two kinds the larger number is the size of a group."""


@dataclass(frozen=True, slots=True)
class LayerPages:
    """Layers with equal pages."""

    layers: int
    token_bytes: Fraction
    """Bytes of one layer; 0 for a state."""
    state_bytes: Fraction = Fraction(0)
    """Bytes of one sequence in one layer; 0 for attention."""
    window: int | None = None
    latent: bool = False

    @property
    def page(self) -> Fraction:
        """Bytes of a page with `BLOCK_TOKENS` tokens, or of a state."""
        return self.state_bytes or BLOCK_TOKENS * self.token_bytes


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Division of a model's cache on one GPU."""

    page_bytes: Fraction
    """Bytes of a block in all layers of a group."""
    groups: tuple[tuple[LayerPages, int], ...]
    """Kind of the layers of each group, and tokens of its blocks."""
    steps: int = 2
    """Steps that are scheduled before the first of them has ended: two, and the stages of a
    pipeline (`VllmConfig.max_concurrent_batches`, asynchronous scheduling)."""

    def blocks(self, cache_bytes: int) -> int:
        """Number of blocks in a cache of this number of bytes."""
        return int(cache_bytes // self.page_bytes)

    def needed(self, tokens: int, in_flight: int) -> int:
        """Blocks of one request; `tokens` of it, and the tokens that running steps may hold."""
        total = 0
        for kind, each in self.groups:
            if kind.state_bytes:
                total += 1
            elif kind.window is None:
                total += ceil(tokens / each)
            else:
                # One more: a window need not begin with a block.
                total += ceil(min(kind.window - 1 + in_flight, tokens) / each) + 1
        return total

    def longest(self, cache_bytes: int, tokens: int, in_flight: int) -> int:
        """The largest number of tokens up to `tokens` of which one request has room; 0: of none."""
        blocks, low, high = self.blocks(cache_bytes), 0, tokens
        while low < high:
            middle = (low + high + 1) // 2
            if self.needed(middle, in_flight) <= blocks:
                low = middle
            else:
                high = middle - 1
        return low

    def tokens(self, cache_bytes: int) -> int:
        """Tokens that the engine reports at its start."""
        each = min((each for kind, each in self.groups if not kind.state_bytes), default=0)
        return self.blocks(cache_bytes) // len(self.groups) * each


@lru_cache(maxsize=4096)
def block_layout(
    model: Architecture, cache: KvFormat, parallel: Parallelism
) -> BlockLayout | str | None:
    """The layout, vLLM's reason for refusing one, or None for a model without a cache and for one
    whose layers have no formula here."""
    kinds = _kinds(model, cache, parallel)
    if not kinds:
        return None
    alike = {(bool(kind.state_bytes), kind.window) for kind in kinds}
    if len(alike) == 1:
        # One table of blocks for all layers, whatever their pages are.
        whole = sum((kind.layers * kind.page for kind in kinds), Fraction(0))
        return BlockLayout(whole, ((kinds[0], BLOCK_TOKENS),), max(2, parallel.pipeline))
    largest = max(kind.page for kind in kinds)
    attention = [kind for kind in kinds if not kind.state_bytes]
    if any(kind.state_bytes for kind in kinds) and attention:
        # Attention takes as many tokens to a page as a state has room for, and states are padded
        # (vllm/model_executor/models/config.py, HybridAttentionMambaModelConfig).
        step = max(kind.page for kind in attention)
        largest = ceil(largest / step) * step
    if any(largest % kind.page for kind in attention if kind.latent):
        return "the page of its latent layers does not divide that of the others"
    counts = [kind.layers for kind in kinds]
    size = max(counts) if max(counts) < _PADDED * min(counts) else min(counts)
    groups: list[tuple[LayerPages, int]] = []
    for kind in kinds:
        # A page that does not divide the largest is padded.
        whole = largest // kind.page if largest % kind.page == 0 else 1
        each = BLOCK_TOKENS * int(whole) if not kind.state_bytes else 0
        groups += [(kind, each)] * ceil(kind.layers / size)
    return BlockLayout(size * largest, tuple(groups), max(2, parallel.pipeline))


def _kinds(model: Architecture, cache: KvFormat, parallel: Parallelism) -> list[LayerPages]:
    found: dict[tuple[Fraction, Fraction, int | None, bool], int] = defaultdict(int)
    for group in model.groups:
        mixer = group.mixer
        state = Fraction(0)
        if isinstance(mixer, LinearMixer) and mixer.state_elements:
            state = linear_state_bytes(mixer, parallel.tensor)
        each = layer_token_bytes(mixer, cache, parallel.tensor) / parallel.context
        if isinstance(mixer, CompressedAttention):
            return []
        if state or each:
            window = mixer.window if isinstance(mixer, Attention) else None
            found[each, state, window, isinstance(mixer, LatentAttention)] += group.count
    return [LayerPages(ceil(layers / parallel.pipeline), *kind) for kind, layers in found.items()]


WINDOW_PART = Fraction(8, 10)
"""Tokens of the pool of windows for each of the other pool."""
STATE_PART = Fraction(9, 19)
"""Part of the cache for states: 0.9 of the tokens' part."""
STATES_EACH = 5
"""Slots for states of each sequence that runs: three for the radix cache, which is on by default,
and two buffers, as `auto` is `extra_buffer` with the overlapped scheduler
(sgl-project/sglang @ 003bbaf, `srt/arg_groups/overrides.py`, `_mamba_radix_cache_resolution`)."""
_SPLIT = ("gpt-oss", "llama-4", "gemma-4", "mimo-v2", "step3", "laguna", "mellum")
"""Models whose windows have their own pool (`is_hybrid_swa_model`): for other models each layer
keeps every token. By the name of the model, because the name of its class is not known."""


@dataclass(frozen=True, slots=True)
class SglangPools:
    """The pools on one GPU."""

    tokens: int
    """Tokens of the longest request, and of all together."""
    window_tokens: int | None
    """None: no pool of windows."""
    window: int
    states: int | None
    """Sequences that have a state; None: no layer has one."""

    def sequences(self, tokens: int) -> int:
        """Requests of this number of tokens at once."""
        found = self.tokens // tokens
        if self.window_tokens is not None:
            found = min(found, self.window_tokens // min(self.window + 1, tokens))
        return found if self.states is None else min(found, self.states)

    @property
    def refusal(self) -> str | None:
        """Why the server ends at its start; None: it does not."""
        if self.states == 0:
            return "its cache for states is too small for one sequence"
        if self.tokens <= 0:
            return "weights leave no memory for the cache (`--mem-fraction-static`)"
        if self.window_tokens is not None and self.window_tokens <= self.window + 1:
            return f"its pool of {self.window_tokens} tokens for windows holds no request"
        return None


def sglang_pools(
    model: Architecture, cache: KvFormat, parallel: Parallelism, cache_bytes: int
) -> SglangPools | None:
    """Division of a cache of this number of bytes on each GPU; None for a model without one."""
    everything = windows = states = Fraction(0)
    window = 0
    split = any(name in model.name.lower().replace("_", "-") for name in _SPLIT)
    for group in model.groups:
        mixer = group.mixer
        if isinstance(mixer, LinearMixer):
            if mixer.state_elements:
                states += group.count * linear_state_bytes(mixer, parallel.tensor)
            continue
        each = group.count * layer_token_bytes(mixer, cache, parallel.tensor) / parallel.context
        if split and isinstance(mixer, Attention) and mixer.window is not None:
            windows, window = windows + each, max(window, mixer.window)
        else:
            everything += each
    fullest = Fraction(stage_layers(model.layers, parallel.pipeline)[0], model.layers)
    everything, windows, states = (part * fullest for part in (everything, windows, states))
    slots = int(cache_bytes * STATE_PART // states) if states else 0
    left = cache_bytes - slots * states
    # Windows alone: their pool is the only one, and its part means nothing.
    each = everything + WINDOW_PART * windows if everything else windows
    if not each:
        return None
    tokens = int(left // each)
    return SglangPools(
        tokens,
        int(tokens * WINDOW_PART) if windows and everything else None,
        window,
        slots // STATES_EACH if states else None,
    )
