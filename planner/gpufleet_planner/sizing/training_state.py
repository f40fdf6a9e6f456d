"""Memory of a training step: state of the parameters, adapters, tensors saved for the backward
pass, logits and loss.

Coefficients of activations are bytes per token and layer of Llama-type models in PyTorch with flash
attention and without dropout; `docs/sizing.md` shows how close they come to measurements.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    ExpertFeedForward,
    LatentAttention,
    LayerGroup,
    LinearMixer,
)
from gpufleet.models.parallel import Parallelism


class TrainingFramework(StrEnum):
    """Training framework of the job."""

    PYTORCH = "pytorch"
    """PyTorch with FSDP: Composer, torchtitan, torchtune, TRL, Accelerate."""
    MEGATRON = "megatron"
    """Megatron-Core with Transformer Engine: NeMo, Megatron-LM, Megatron-Bridge."""


class Arithmetic(StrEnum):
    """Number format of matrix products; attention stays in BF16."""

    BF16 = "bf16"
    FP8 = "fp8"


class TrainingPrecision(StrEnum):
    """Number formats between steps."""

    FP32 = "fp32"
    """Everything in FP32, activations too."""
    AMP = "amp"
    """FP32 parameters and gradients, BF16 arithmetic: torch AMP, FSDP2 mixed precision."""
    MIXED = "bf16-mixed"
    """BF16 weights and gradients, FP32 master copy and moments."""
    MIXED_FP32_GRADIENTS = "bf16-mixed-fp32-gradients"
    """The same with FP32 gradients: Megatron, DeepSpeed."""
    BF16 = "bf16"
    """Weights, gradients and moments in BF16."""


class Optimizer(StrEnum):
    """Optimizer state per parameter."""

    ADAMW = "adamw"
    """Two moments."""
    ADAMW_8BIT = "adamw-8bit"
    """Two moments of one byte."""
    ADAMW_PAGED = "adamw-paged"
    """Two moments in pages that move to host memory when the GPU is full (bitsandbytes)."""
    ADAMW_8BIT_PAGED = "adamw-8bit-paged"
    """The same with moments of one byte."""
    ADAMW_OFFLOADED = "adamw-offloaded"
    """Two moments and the FP32 master copy in host memory, the step on the CPU (ZeRO-Offload)."""
    MOMENTUM = "momentum"
    """One: SGD with momentum, Muon, Lion."""


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes per trainable parameter."""

    weights: int
    master: int
    gradients: int
    optimizer: int


_BASE = {
    TrainingPrecision.FP32: StateBytes(4, 0, 4, 8),
    TrainingPrecision.AMP: StateBytes(4, 0, 4, 8),
    TrainingPrecision.MIXED: StateBytes(2, 4, 2, 8),
    TrainingPrecision.MIXED_FP32_GRADIENTS: StateBytes(2, 4, 4, 8),
    TrainingPrecision.BF16: StateBytes(2, 0, 2, 4),
}


def state_bytes(
    precision: TrainingPrecision, optimizer: Optimizer = Optimizer.ADAMW, *, fused: bool = False
) -> StateBytes:
    """State per trainable parameter. `fused`: the optimizer steps inside the backward pass, so that
    gradients are never all there (they still are with gradient accumulation)."""
    base = _BASE[precision]
    moments = {
        Optimizer.ADAMW_8BIT: 2,
        Optimizer.ADAMW_8BIT_PAGED: 2,
        Optimizer.MOMENTUM: base.optimizer // 2,
    }.get(optimizer, base.optimizer)
    return StateBytes(base.weights, base.master, 0 if fused else base.gradients, moments)


def on_host(optimizer: Optimizer) -> frozenset[str]:
    """Parts of the state that need no room on the GPU, by key of the ledger."""
    if optimizer is Optimizer.ADAMW_OFFLOADED:
        return frozenset({"optimizer", "master_weights"})
    if optimizer in (Optimizer.ADAMW_PAGED, Optimizer.ADAMW_8BIT_PAGED):
        return frozenset({"optimizer"})
    return frozenset()


ADAPTER_STATE = StateBytes(2, 4, 2, 8)
"""An adapter's parameters are trained in mixed precision: 16 bytes each."""


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


class Checkpointing(StrEnum):
    """Which activations are recomputed instead of kept."""

    NONE = "none"
    SELECTIVE = "selective"
    """Per operation, as torchtitan does it: 0.42 of the whole."""
    FULL = "full"
    """Only the input of each layer is kept: 2h bytes per token."""


class Loss(StrEnum):
    """Implementation of the loss: bytes per token and vocabulary entry."""

    EAGER = "eager"
    """BF16 logits, FP32 copy, FP32 and BF16 gradient: 12."""
    COMPILED = "compiled"
    """FP32 logits leave the model, and the loss is compiled: 8."""
    COMPILED_CAST = "compiled-cast"
    """The cast to FP32 is compiled with the loss, so that only BF16 logits and their BF16 gradient
    exist: 4. torchtitan since 2025-04 (pytorch/torchtitan#1033); a compiled loss keeps nothing in
    its forward pass and the gradient in its backward pass (Dao-AILab/quack#48)."""
    CHUNKED = "chunked"
    """Chunked or fused cross-entropy: 2."""


LOSS_BYTES = {Loss.EAGER: 12, Loss.COMPILED: 8, Loss.COMPILED_CAST: 4, Loss.CHUNKED: 2}
COMPILE_FACTOR = Fraction(85, 100)
"""Activations of the layers that torch.compile keeps."""
SELECTIVE_FACTOR = Fraction(42, 100)


@dataclass(frozen=True, slots=True)
class LayerActivations:
    """Bytes one token leaves in one layer, split by whether plain tensor ranks divide them."""

    divided: int
    """Feed-forward and attention: divided by the tensor ranks."""
    replicated: int
    """Norms and inputs of the matrices: divided only with sequence parallelism."""

    def on_gpu(self, parallel: Parallelism) -> Fraction:
        """Bytes on each tensor rank."""
        share = parallel.tensor if parallel.sequence else 1
        return Fraction(self.divided, parallel.tensor) + Fraction(self.replicated, share)


def layer_activations(
    model: Architecture, group: LayerGroup, *, frozen_feed_forward: bool = False
) -> LayerActivations:
    """One token in one layer, everything kept, 16 bit.

    `frozen_feed_forward`: LoRA on attention only, over a base that is not in 4 bit; the
    feed-forward then saves less because its weights need no gradient.
    """
    hidden = model.hidden
    block = group.feed_forward
    size = 0
    if isinstance(block, ExpertFeedForward):
        size = block.per_token * block.size + block.shared_size
    elif block is not None:
        size = block.size
    gated = block is not None and block.gated
    per_size = (6 if gated else 2) if frozen_feed_forward else (8 if gated else 4)
    norm = 4 if model.layer_norm else 12
    inputs = 2 if frozen_feed_forward else 4
    mixer = group.mixer
    if not isinstance(mixer, LinearMixer):
        attention = 6 * (mixer.query_width + mixer.kv_width)
        if isinstance(mixer, Attention) and mixer.per_head_norm:
            attention *= 2
    else:
        attention = 6 * mixer.width
    return LayerActivations(
        divided=per_size * size + attention, replicated=(norm + inputs) * hidden
    )
