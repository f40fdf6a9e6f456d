"""Counting parameters: N = L*(attention + feed-forward + 2h) + h + V*h*(1 or 2)."""

from dataclasses import dataclass
from functools import lru_cache

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    ExpertFeedForward,
    FeedForward,
    LatentAttention,
    LinearMixer,
    Mixer,
)


@dataclass(frozen=True, slots=True)
class ParameterCount:
    """Parameters by the role that decides how they are stored and sharded."""

    mixers: int
    """Attention and linear mixers of all layers."""
    replicated: int
    """Those of them that every tensor rank holds whole."""
    feed_forward: int
    """Dense blocks and shared experts."""
    experts: int
    """Routed experts, all of them."""
    router: int
    norms: int
    embeddings: int
    head: int
    """0 when tied or absent."""
    other: int
    active: int
    """Read for one token, embeddings and head included (vendors often leave the former out); towers
    and position embeddings are not."""
    multiplied: int
    """Parameters among `active` that multiply a token: the lookup of an input embedding is not
    arithmetic; a tied embedding is also the output projection."""
    largest_matrix: int
    """Size of the largest matrix of layers and head, which bitsandbytes dequantises."""
    largest_layer: int
    """Parameters of the largest layer with all its experts, which FSDP gathers at once."""

    @property
    def total(self) -> int:
        """All parameters."""
        return self.matrices + self.router + self.norms + self.embeddings + self.head + self.other

    @property
    def matrices(self) -> int:
        """Parameters that quantisation changes."""
        return self.mixers + self.feed_forward + self.experts


def mixer_parameters(mixer: Mixer, hidden: int) -> int:
    """Parameters of one layer's attention or mixer, norms and biases left out."""
    if isinstance(mixer, LinearMixer):
        return mixer.parameters
    if isinstance(mixer, CompressedAttention):
        return _compressed(mixer, hidden)
    if isinstance(mixer, Attention):
        given = mixer.query_heads * (mixer.value_dim or mixer.head_dim)
        queries = (2 if mixer.output_gate else 1) * mixer.query_width
        keys = 0 if mixer.reads_other_cache else mixer.kv_width
        values = 0 if mixer.keys_are_values or mixer.reads_other_cache else mixer.value_width
        indexer = mixer.index_dim * (mixer.index_heads + 1)
        return hidden * (queries + keys + values + given + indexer)
    queries = (mixer.query_rank or hidden) * mixer.query_width
    decompressed = mixer.kv_rank * mixer.heads * (mixer.nope_dim + mixer.value_dim)
    given = mixer.heads * mixer.value_dim * hidden + replicated_parameters(mixer, hidden)
    return queries + decompressed + given


def replicated_parameters(mixer: Mixer, hidden: int) -> int:
    """Parameters of one layer's mixer that every tensor rank holds whole: projections to latents,
    and indexers (`ReplicatedLinear`, deepseek_v2.py of vllm-project/vllm, sgl-project/sglang)."""
    if not isinstance(mixer, LatentAttention):
        return 0
    latents = hidden * ((mixer.query_rank or 0) + mixer.kv_rank + mixer.rope_dim)
    indexer = (mixer.query_rank or hidden) * mixer.index_heads * mixer.index_dim
    return latents + indexer + hidden * (mixer.index_dim + mixer.index_heads)


def _compressed(mixer: CompressedAttention, hidden: int) -> int:
    """Queries and outputs of low rank, one head of keys, the compressor and its gate (twice as
    wide where entries overlap) with the indexer's own, the mixing of residual streams."""
    queries = mixer.query_rank * (hidden + mixer.query_width)
    outputs = mixer.output_rank * (mixer.query_width + mixer.output_groups * hidden)
    overlap = 2 if mixer.index_heads else 1
    compressor = 2 * hidden * overlap * mixer.head_dim if mixer.ratio else 0
    indexer = 2 * hidden * overlap * mixer.index_dim + mixer.index_heads * (
        mixer.query_rank * mixer.index_dim + hidden
    )
    streams = mixer.connections
    mixing = 2 * (streams**2 + 2 * streams) * streams * hidden if streams > 1 else 0
    return queries + outputs + hidden * mixer.head_dim + compressor + indexer + mixing


def feed_forward_parameters(
    block: FeedForward | ExpertFeedForward | None, hidden: int
) -> tuple[int, int, int, int]:
    """Dense or shared, routed, router and per-token-routed parameters of one feed-forward."""
    if block is None:
        return 0, 0, 0, 0
    matrices = 3 if block.gated else 2
    if not isinstance(block, ExpertFeedForward):
        return matrices * hidden * block.size, 0, 0, 0
    one = matrices * (block.latent or hidden) * block.size
    shared = matrices * hidden * block.shared_size + 2 * hidden * (block.latent or 0)
    return shared, block.experts * one, hidden * block.experts, block.per_token * one


def _largest_matrix(model: Architecture) -> int:
    """Largest single matrix of the layers, or the output projection."""
    sizes = [model.hidden * model.vocabulary] if model.has_head else [0]
    for group in model.groups:
        mixer, block = group.mixer, group.feed_forward
        width = mixer.width if isinstance(mixer, LinearMixer) else mixer.query_width
        sizes.append(model.hidden * width)
        if block is not None:
            sizes.append(model.hidden * block.size)
    return max(sizes)


def _booked(difference: int, parts: tuple[int, ...], first: int) -> tuple[int, ...]:
    """Parts with a difference added to the one at `first`, or taken from it and those behind."""
    found = list(parts)
    if difference > 0:
        found[first] += difference
        return tuple(found)
    for place in range(first, len(found)):
        taken = min(found[place], -difference)
        found[place] -= taken
        difference += taken
    return tuple(found)


@lru_cache(maxsize=1024)
def count_parameters(model: Architecture) -> ParameterCount:
    """Count a model. A stated total wins over the shape; the difference is booked as feed-forward
    (or as experts where there are any), which is where unknown shape parameters usually sit."""
    hidden = model.hidden
    mixers = whole = dense = routed = router = chosen = largest = 0
    for group in model.groups:
        mixer = mixer_parameters(group.mixer, hidden)
        block, experts, gate, used = feed_forward_parameters(group.feed_forward, hidden)
        mixers += group.count * mixer
        whole += group.count * replicated_parameters(group.mixer, hidden)
        dense += group.count * block
        routed += group.count * experts
        router += group.count * gate
        chosen += group.count * used
        largest = max(largest, mixer + block + experts + gate + 2 * hidden)
    norms = model.layers * 2 * hidden + hidden
    embeddings = model.vocabulary * hidden
    other = model.other_parameters
    head = 0 if model.tied_embeddings or not model.has_head else embeddings
    if model.stated_parameters is not None:
        fixed = router + norms
        parts = (routed, dense, mixers, head, embeddings, other)
        parts = _booked(model.stated_parameters - fixed - sum(parts), parts, 0 if routed else 1)
        routed, dense, mixers, head, embeddings, other = parts
        largest = max(largest, -(-(mixers + dense + routed) // max(model.layers, 1)))
    multiplied = mixers + dense + chosen + router + norms + head
    active = multiplied + embeddings
    if model.tied_embeddings and model.has_head:
        multiplied = active
    if model.stated_active is not None:
        active = model.stated_active
    return ParameterCount(
        mixers=mixers,
        replicated=whole,
        feed_forward=dense,
        experts=routed,
        router=router,
        norms=norms,
        embeddings=embeddings,
        head=head,
        other=other,
        active=active,
        multiplied=min(multiplied, active),
        largest_matrix=_largest_matrix(model),
        largest_layer=largest,
    )
