"""What a training step saves for its backward pass, and what logits and loss take.

Coefficients are bytes per token and layer of Llama-type models in PyTorch with flash attention and
without dropout; `docs/sizing.md` shows how close they come to measurements.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil

from gpufleet.models.architecture import (
    Architecture,
    Attention,
    ExpertFeedForward,
    LayerGroup,
    LinearMixer,
)
from gpufleet.models.parallel import Parallelism


class Checkpointing(StrEnum):
    """Which activations are recomputed instead of kept."""

    NONE = "none"
    SELECTIVE = "selective"
    """Per operation, as torchtitan does it: 0.42 of the whole."""
    FULL = "full"
    """Only the input of each layer is kept: 2h bytes per token."""


class Loss(StrEnum):
    """How logits become a loss: bytes per token and vocabulary entry."""

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
"""What torch.compile keeps of the activations of the layers."""
SELECTIVE_FACTOR = Fraction(42, 100)


@dataclass(frozen=True, slots=True)
class LayerActivations:
    """Bytes one token leaves in one layer, split by whether plain tensor ranks divide them."""

    divided: int
    """Feed-forward and attention: divided by the tensor ranks."""
    replicated: int
    """Norms and inputs of the matrices: divided only with sequence parallelism."""

    @property
    def total(self) -> int:
        """Bytes on one GPU."""
        return self.divided + self.replicated

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


@dataclass(frozen=True, slots=True)
class ActivationPlan:
    """How a step keeps activations. Tokens are those of one GPU and micro-batch."""

    tokens: int
    checkpointing: Checkpointing = Checkpointing.NONE
    compiled: bool = False
    frozen_feed_forward: bool = False
    element_bytes: int = 2
    """4 when training runs in FP32 throughout."""


def kept_activations(
    model: Architecture, plan: ActivationPlan, parallel: Parallelism, layers: Fraction
) -> int:
    """Bytes kept for the backward pass by so many layers (micro-batches in flight included).

    Layers of unequal kinds are averaged, the recomputed layer is the largest.
    """
    each = [
        (
            group.count,
            layer_activations(model, group, frozen_feed_forward=plan.frozen_feed_forward).on_gpu(
                parallel
            ),
        )
        for group in model.groups
    ]
    average = sum((count * layer for count, layer in each), Fraction(0)) / model.layers
    largest = max(layer for _, layer in each)
    factor = COMPILE_FACTOR if plan.compiled else Fraction(1)
    tokens = Fraction(plan.tokens, parallel.context) * Fraction(plan.element_bytes, 2)
    if plan.checkpointing is Checkpointing.FULL:
        share = parallel.tensor if parallel.sequence else 1
        inputs = layers * Fraction(2 * model.hidden, share)
        return ceil(tokens * (inputs + largest * factor))
    if plan.checkpointing is Checkpointing.SELECTIVE:
        factor *= SELECTIVE_FACTOR
    return ceil(tokens * layers * average * factor)


def gathered_sequence(model: Architecture, plan: ActivationPlan, parallel: Parallelism) -> int:
    """Bytes of whole sequences that a tensor rank gathers from parts: the input of a matrix in the
    forward pass, the same again and its gradient in the backward pass."""
    if parallel.tensor == 1 or not parallel.sequence:
        return 0
    return ceil(Fraction(3 * plan.tokens * model.hidden * plan.element_bytes, parallel.context))


def loss_bytes(
    model: Architecture, plan: ActivationPlan, parallel: Parallelism, loss: Loss, divided: bool
) -> int:
    """Bytes of logits and their gradients. `divided`: the loss is computed in parallel over the
    tensor ranks, each holding a part of the vocabulary."""
    if not model.has_head:
        return 0
    share = parallel.context * (parallel.tensor if divided else 1)
    # Tensor ranks normalise apart: the FP32 logarithms are one more copy.
    copies = 4 if divided and parallel.tensor > 1 and loss is not Loss.CHUNKED else 0
    each = (LOSS_BYTES[loss] + copies) * Fraction(plan.element_bytes, 2)
    return ceil(Fraction(plan.tokens * model.vocabulary, share) * each)
