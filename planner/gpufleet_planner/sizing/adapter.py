"""LoRA adapters: which matrices get one, and how many parameters that is."""

from enum import StrEnum
from functools import lru_cache

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    ExpertFeedForward,
    LatentAttention,
    LayerGroup,
)


class AdapterTargets(StrEnum):
    """Matrices that get an adapter."""

    QUERY_VALUE = "query-value"
    """q and v: the default of LoRA and of litgpt."""
    ATTENTION = "attention"
    """q, k, v and o."""
    ALL_LINEAR = "all-linear"
    """Every matrix of the layers, experts included."""


def _attention_shapes(model: Architecture, group: LayerGroup) -> list[tuple[int, int]]:
    """(in, out) of q, k, v and o. Latent attention counts its own projections."""
    hidden, mixer = model.hidden, group.mixer
    if isinstance(mixer, Attention):
        q, kv = mixer.query_width, mixer.kv_width
        return [(hidden, q), (hidden, kv), (hidden, kv), (q, hidden)]
    if isinstance(mixer, LatentAttention):
        rank = mixer.query_rank or hidden
        return [
            (rank, mixer.query_width),
            (hidden, mixer.kv_rank + mixer.rope_dim),
            (mixer.kv_rank, mixer.heads * (mixer.nope_dim + mixer.value_dim)),
            (mixer.heads * mixer.value_dim, hidden),
        ]
    return [(hidden, mixer.width), (mixer.width, hidden)]


def _feed_forward_shapes(model: Architecture, group: LayerGroup) -> list[tuple[int, int]]:
    block = group.feed_forward
    if block is None:
        return []
    up = 2 if block.gated else 1

    def one(size: int) -> list[tuple[int, int]]:
        return [(model.hidden, size)] * up + [(size, model.hidden)]

    if isinstance(block, ExpertFeedForward):
        shared = one(block.shared_size) if block.shared_size else []
        return one(block.size) * block.experts + shared
    return one(block.size)


@lru_cache(maxsize=1024)
def adapter_parameters(model: Architecture, rank: int, targets: AdapterTargets) -> int:
    """Adapter size: the sum over adapted matrices of rank * (in + out)."""
    total = 0
    for group in model.groups:
        shapes = _attention_shapes(model, group)
        if targets is AdapterTargets.QUERY_VALUE and len(shapes) == 4:
            shapes = [shapes[0], shapes[2]]
        if targets is AdapterTargets.ALL_LINEAR:
            shapes = shapes + _feed_forward_shapes(model, group)
        total += group.count * sum(rank * (wide + tall) for wide, tall in shapes)
    return total
