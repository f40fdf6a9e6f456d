"""Bytes each trained parameter drags along: weights, master copy, gradient, optimizer state."""

from dataclasses import dataclass
from enum import StrEnum


class TrainingPrecision(StrEnum):
    """How numbers are kept between steps."""

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
    """What is kept per parameter to make a step."""

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

    @property
    def total(self) -> int:
        """All of them: what one unsharded GPU holds."""
        return self.weights + self.master + self.gradients + self.optimizer


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
