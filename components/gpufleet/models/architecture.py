"""The shape of a model for memory and speed: groups of equal layers, embeddings, head.

One type serves the catalogue, Hugging Face configurations and stated parameter counts; the formulas
do not depend on the source of a shape.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from gpufleet.models.ledger import Basis


@dataclass(frozen=True, slots=True)
class Attention:
    """Multi-head, grouped-query or multi-query attention; keys and values are cached."""

    query_heads: int
    kv_heads: int
    head_dim: int
    window: int | None = None
    """Number of tokens that a sliding-window layer holds; None: all tokens."""
    per_head_norm: bool = False
    """Queries and keys are normalised per head (Qwen3, OLMo2, Gemma 3)."""
    output_gate: bool = False
    """A second query-sized projection gates the output (Qwen3-Next)."""
    value_dim: int | None = None
    """Elements of a value, if not equal to those of a key (MiMo); None: `head_dim`."""
    keys_are_values: bool = False
    """One projection gives keys and values (layers of Gemma 4 with full attention); both are
    cached."""
    reads_other_cache: bool = False
    """Keys and values are those of an earlier layer (Gemma 3n and 4): no projection, no cache."""
    index_heads: int = 0
    """Heads of an indexer that picks the blocks to attend to (MiniMax-M3); 0: none."""
    index_dim: int = 0
    """Elements of the indexer's key of one token; cached too."""

    @property
    def query_width(self) -> int:
        """d_q, elements of one token's queries."""
        return self.query_heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """d_kv, elements of one token's keys (and again of its values)."""
        return self.kv_heads * self.head_dim

    @property
    def value_width(self) -> int:
        """Elements of one token's values over all KV heads."""
        return self.kv_heads * (self.value_dim or self.head_dim)


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek): one compressed vector per token is cached."""

    heads: int
    query_rank: int | None
    """None: queries are projected directly."""
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int
    index_heads: int = 0
    """Heads of an indexer that picks the tokens to attend to (DeepSeek V3.2); 0: none."""
    index_dim: int = 0
    """Elements of the indexer's key of one token; cached too, in FP8 with a scale."""

    @property
    def query_width(self) -> int:
        """Elements of one token's queries over all heads."""
        return self.heads * (self.nope_dim + self.rope_dim)

    @property
    def kv_width(self) -> int:
        """Elements of one token's decompressed keys, which training saves."""
        return self.heads * (self.nope_dim + self.rope_dim)


@dataclass(frozen=True, slots=True)
class CompressedAttention:
    """Attention to a window and to compressed entries of all other tokens (DeepSeek-V4): keys are
    values, one head of them serves all query heads."""

    heads: int
    head_dim: int
    query_rank: int
    output_groups: int
    output_rank: int
    window: int
    ratio: int
    """Tokens that one compressed entry represents; 0: the window is all."""
    index_heads: int = 0
    """Heads of an indexer that picks entries; 0: none."""
    index_dim: int = 0
    connections: int = 1
    """Residual streams that the layer mixes (hyper-connections)."""

    @property
    def query_width(self) -> int:
        """Elements of one token's queries."""
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        """Elements of one token's keys, which are its values."""
        return self.head_dim

    @property
    def width(self) -> int:
        """Elements of the widest projection."""
        return self.query_width


@dataclass(frozen=True, slots=True)
class LinearMixer:
    """Linear attention or a state-space layer: a state of constant size per sequence."""

    parameters: int
    state_elements: int
    """Recurrent and convolution state of one sequence; kept in FP32."""
    width: int
    """Elements of one token's widest projection, used in place of d_q + 2*d_kv."""


NO_MIXER = LinearMixer(0, 0, 0)
"""Mixer of a layer that is only a feed-forward block (Nemotron-H)."""


Mixer = Attention | LatentAttention | CompressedAttention | LinearMixer


@dataclass(frozen=True, slots=True)
class FeedForward:
    """A dense feed-forward block."""

    size: int
    gated: bool = True
    """Three matrices (SwiGLU, GeGLU) or two."""


@dataclass(frozen=True, slots=True)
class ExpertFeedForward:
    """A mixture-of-experts block."""

    experts: int
    per_token: int
    size: int
    """Feed-forward size of one expert."""
    shared_size: int = 0
    """Feed-forward size of all shared experts together."""
    gated: bool = True
    latent: int | None = None
    """Width of the routed experts, if it is not the model's (Nemotron 3): two projections of each
    layer convert to it and back."""


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`count` layers of one kind. Their order in the model does not affect memory."""

    count: int
    mixer: Mixer
    feed_forward: FeedForward | ExpertFeedForward | None
    """None: the layer only mixes tokens."""


@dataclass(frozen=True, slots=True)
class StoredMatrices:
    """Bytes of the matrices of a checkpoint that keeps some of them in other formats."""

    form: str
    """Name of the checkpoint's weight format."""
    mixers: Fraction
    feed_forward: Fraction
    """Dense blocks and shared experts."""
    experts: Fraction


@dataclass(frozen=True, slots=True)
class Architecture:
    """One model."""

    name: str
    hidden: int
    vocabulary: int
    tied_embeddings: bool
    """Whether the head shares the embeddings' matrix."""
    groups: tuple[LayerGroup, ...]
    basis: Basis
    """`modelled`: the shape is published. `assumed`: parts of it have no source."""
    source: str
    """Source of the shape: a row of the catalogue, a file, a statement."""
    assumptions: tuple[str, ...] = ()
    layer_norm: bool = False
    """Fused LayerNorm instead of RMSNorm: trains with smaller saved inputs."""
    causal: bool = True
    """False: an encoder (BERT): no KV cache and no generation."""
    has_head: bool = True
    """False: an embedding model without output vocabulary projection."""
    other_parameters: int = 0
    """Vision tower, projector, position embeddings, biases: stored in 16 bit, not per layer."""
    tower_parameters: int = 0
    """Those of them of a vision tower and its projector."""
    image_bytes: int = 0
    """Activations of the vision tower for an image of the largest size; 0: none, or not known."""
    rotary_bytes: int = 0
    """Tables of sines and cosines of every position, which vLLM keeps whole on each GPU."""
    stated_parameters: int | None = None
    """Total that is known better than the shape: the difference is put into the feed-forward."""
    stated_active: int | None = None
    """Parameters read per token, if they do not follow from the shape."""
    stored: StoredMatrices | None = None
    """None: every matrix is in the format in which the weights are sized."""
    max_context: int | None = None
    """Maximum context length of the model; None: not stated."""

    def __hash__(self) -> int:
        # Looked up by the ten thousand where choices are tried: the layers need not be hashed.
        return hash((self.name, self.hidden, self.vocabulary, self.stated_parameters, self.causal))

    @property
    def language_part(self) -> "Architecture":
        """The model as engines load it where they serve no images: without a vision tower
        (`language_model_only`; vllm-project/vllm model_executor/models/interfaces.py)."""
        tower, stated = self.tower_parameters, self.stated_parameters
        return replace(
            self,
            other_parameters=self.other_parameters - tower,
            tower_parameters=0,
            image_bytes=0,
            stated_parameters=None if stated is None else stated - tower,
        )

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(group.count for group in self.groups)

    @property
    def is_mixture(self) -> bool:
        """Whether any layer has experts."""
        return any(isinstance(group.feed_forward, ExpertFeedForward) for group in self.groups)
