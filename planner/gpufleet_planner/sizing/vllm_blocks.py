"""vLLM V1's cache in blocks: groups of layers, pages, blocks of one request, as it computes them.

Rules: vLLM 0.31 to 0.33, `vllm/v1/core/kv_cache_utils.py` (from 0.33 on `kv_cache_planning.py`):
`get_kv_cache_groups`, `unify_kv_cache_spec_page_size`, `_get_kv_cache_groups_uniform_page_size`,
`_max_memory_usage_bytes_from_groups`; `vllm/v1/kv_cache_interface.py`: pages and blocks of each
kind of layer; vllm-project/vllm @ 001cabc has the same. tests/data/vllm_blocks.jsonl holds answers
of these functions. Layouts with the blocks outermost, which few backends have, are not counted.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    LinearMixer,
    Mixer,
)
from gpufleet.models.formats import KvFormat
from gpufleet.models.kv_cache import BLOCK_TOKENS, layer_token_bytes, linear_state_bytes
from gpufleet.models.parallel import Parallelism

_PADDED = Fraction(3, 2)
"""Below this ratio of the layers of two kinds the larger number is the size of a group."""


@dataclass(frozen=True, slots=True)
class LayerPages:
    """Layers whose pages are alike."""

    layers: int
    token_bytes: Fraction
    """Of one layer; 0 for a state."""
    state_bytes: Fraction = Fraction(0)
    """Of one sequence in one layer; 0 for attention."""
    window: int | None = None
    latent: bool = False

    @property
    def page(self) -> Fraction:
        """Bytes of a page with `BLOCK_TOKENS` tokens, or of a state."""
        return self.state_bytes or BLOCK_TOKENS * self.token_bytes


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """How the cache of a model is divided on one GPU."""

    page_bytes: Fraction
    """Of a block in all layers of a group."""
    groups: tuple[tuple[LayerPages, int], ...]
    """Kind of the layers of each group, and tokens of its blocks."""
    steps: int = 2
    """Steps that are scheduled before the first of them has ended: two, and the stages of a
    pipeline (`VllmConfig.max_concurrent_batches`, asynchronous scheduling)."""

    def blocks(self, cache_bytes: int) -> int:
        """Blocks that a cache of so many bytes has."""
        return int(cache_bytes // self.page_bytes)

    def needed(self, tokens: int, in_flight: int) -> int:
        """Blocks of one request of so many tokens, of which so many may be in steps that run."""
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

    @property
    def has_states(self) -> bool:
        """Whether sequences hold a state of constant size, each in a block of its own."""
        return any(kind.state_bytes for kind, _ in self.groups)


def block_layout(
    model: Architecture, cache: KvFormat, parallel: Parallelism
) -> BlockLayout | str | None:
    """The layout, vLLM's reason why there is none, or None for a model without a cache and for one
    whose layers have no formula here."""
    kinds = _kinds(model, cache, parallel)
    if not kinds:
        return None
    pages = {kind.page for kind in kinds}
    alike = {(bool(kind.state_bytes), kind.window) for kind in kinds}
    if len(alike) == 1:
        # One table of blocks for all layers, whatever their pages are.
        whole = sum((kind.layers * kind.page for kind in kinds), Fraction(0))
        return BlockLayout(whole, ((kinds[0], BLOCK_TOKENS),), max(2, parallel.pipeline))
    largest = max(pages)
    attention = [kind for kind in kinds if not kind.state_bytes]
    if any(kind.state_bytes for kind in kinds) and attention:
        # Attention takes as many tokens to a page as a state has room for, and states are padded
        # (vllm/model_executor/models/config.py, HybridAttentionMambaModelConfig).
        step = max(kind.page for kind in attention)
        largest = ceil(max(pages) / step) * step
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
        state = _state(mixer, parallel)
        each = layer_token_bytes(mixer, cache, parallel.tensor) / parallel.context
        if isinstance(mixer, CompressedAttention):
            return []
        if state or each:
            window = mixer.window if isinstance(mixer, Attention) else None
            found[each, state, window, isinstance(mixer, LatentAttention)] += group.count
    return [LayerPages(ceil(layers / parallel.pipeline), *kind) for kind, layers in found.items()]


def _state(mixer: Mixer, parallel: Parallelism) -> Fraction:
    if isinstance(mixer, LinearMixer) and mixer.state_elements:
        return linear_state_bytes(mixer, parallel.tensor)
    return Fraction(0)
