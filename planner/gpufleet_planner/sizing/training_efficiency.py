"""Which part of a GPU's rates a training program reaches: by framework, arithmetic and generation.

Matrices and attention are told apart, as long contexts are slower by attention alone. Parts are of
the dense BF16 peak, also where the matrices run in FP8: attention, norms and the optimizer do not.
Fitted to two thirds of the runs in tests/planner/sizing/training_speeds.py (MosaicML llm-foundry,
torchtitan, NVIDIA NeMo and Megatron-Bridge); docs/sizing.md shows the other third.
"""

from dataclasses import dataclass
from enum import StrEnum

from gpufleet.findings import Finding, error
from gpufleet.models.architecture import Architecture
from gpufleet.models.ledger import Basis
from gpufleet_planner.sizing.device import Device


class TrainingFramework(StrEnum):
    """What runs the job."""

    PYTORCH = "pytorch"
    """PyTorch with FSDP: Composer, torchtitan, torchtune, TRL, Accelerate."""
    MEGATRON = "megatron"
    """Megatron-Core with Transformer Engine: NeMo, Megatron-LM, Megatron-Bridge."""


class Arithmetic(StrEnum):
    """What matrices are multiplied in; attention stays in BF16."""

    BF16 = "bf16"
    FP8 = "fp8"


@dataclass(frozen=True, slots=True)
class TrainingEfficiency:
    """Parts of the dense BF16 peak."""

    matrices: float
    attention: float
    exposed: float
    """Part of the communication of tensor groups that matrices do not hide."""
    basis: Basis


_Key = tuple[TrainingFramework, Arithmetic]
_PYTORCH, _MEGATRON = TrainingFramework
_BF16, _FP8 = Arithmetic
_MATRICES: dict[_Key, dict[int, float]] = {
    (_PYTORCH, _BF16): {8: 0.585, 9: 0.42, 10: 0.40},
    (_PYTORCH, _FP8): {9: 0.57, 10: 0.54},
    (_MEGATRON, _BF16): {8: 0.60, 9: 0.55, 10: 0.55},
    (_MEGATRON, _FP8): {9: 0.80, 10: 0.76},
}
"""By major compute capability: Ampere, Hopper, Blackwell."""
_MIXTURE: dict[_Key, dict[int, float]] = {
    (_PYTORCH, _BF16): {8: 0.20, 9: 0.15, 10: 0.15},
    (_PYTORCH, _FP8): {9: 0.17, 10: 0.17},
    (_MEGATRON, _BF16): {8: 0.25, 9: 0.20, 10: 0.19},
    (_MEGATRON, _FP8): {9: 0.235, 10: 0.285},
}
"""The same for mixtures of experts."""
_FITTED = {
    False: {(_PYTORCH, _BF16): {8, 9}, (_PYTORCH, _FP8): {9}, (_MEGATRON, _FP8): {9, 10}},
    True: {(_MEGATRON, _BF16): {9, 10}, (_MEGATRON, _FP8): {9, 10}},
}
"""Whether it is a mixture -> generations with published runs; the others are assumed."""
_ATTENTION = {_PYTORCH: {8: 0.31, 9: 0.18, 10: 0.18}, _MEGATRON: {8: 0.45, 9: 0.45, 10: 0.45}}
_RECOMPUTED = {8: 1.26, 9: 1.34, 10: 1.34}
"""PyTorch with full checkpointing reaches so much more: its operations include the second forward
pass, the most efficient part, and micro-batches are larger."""
_COMPILED = 1.12
"""torch.compile makes matrices, with what is around them, so much faster."""
_EXPOSED = {_PYTORCH: 1.0, _MEGATRON: 0.25}


_RIDGE = {8: 153.0, 9: 295.0, 10: 281.0}
"""Dense BF16 operations for each byte of memory bandwidth: A100-80GB, H100, B200."""


_PEAK = {8: 312e12, 9: 989e12, 10: 2250e12}
"""Dense BF16 operations a second of the same boards."""


def _fed(device: Device, major: int) -> float:
    """By how much more a GPU reaches than the one of its generation that was measured.

    H200 has the units of H100 and 1.43 times its bandwidth; torchtitan trains 8B in FP8 1.28 times
    as fast on 32 H200 as on 8 H100 (tests/planner/sizing/training_speeds.py). The root of the
    bandwidths, 1.20, is on the safe side of that; in BF16 no run was found.
    """
    rates = device.rates
    peak = None if rates is None else rates.bf16
    if rates is None or not peak or not rates.memory_bandwidth or peak < _PEAK[major]:
        return 1.0
    return max(1.0, (_RIDGE[major] / (peak / rates.memory_bandwidth)) ** 0.5)


def _starved(device: Device, major: int) -> float:
    """By how much less a GPU reaches than the one of its generation that was measured."""
    rates = device.rates
    peak = None if rates is None else rates.bf16 or rates.fp16
    if rates is None or not peak or not rates.memory_bandwidth:
        return 0.7
    return min(1.0, (_RIDGE[major] / (peak / rates.memory_bandwidth)) ** 0.5)


def check_arithmetic(
    device: Device, arithmetic: Arithmetic, path: str = "arithmetic"
) -> tuple[Finding, ...]:
    """An error where the GPU cannot multiply in the format: FP8 needs compute capability 8.9."""
    capability = device.gpu.compute_capability
    if arithmetic is Arithmetic.BF16 or capability is None or capability >= (8, 9):
        return ()
    have = f"{capability[0]}.{capability[1]}"
    return (
        error(
            "arithmetic-unsupported",
            path,
            f"training in FP8 needs compute capability 8.9; {device.gpu.key} has {have}",
            "write bf16, or a newer GPU",
            value=arithmetic.value,
            capability=have,
            limit="8.9",
        ),
    )


def efficiency_of(
    model: Architecture,
    device: Device,
    framework: TrainingFramework,
    arithmetic: Arithmetic,
    *,
    recomputed: bool,
    compiled: bool,
) -> TrainingEfficiency:
    """What a job reaches on a device. `recomputed`: full checkpointing.

    GPUs of other generations are `assumed`: the more operations they have for each byte of memory
    they can read, the smaller the part they reach, as from Ampere to Hopper.
    """
    capability = device.gpu.compute_capability or (0, 0)
    major = min(max(capability[0], 8), 10)
    table = _MIXTURE if model.is_mixture else _MATRICES
    row = table[framework, arithmetic]
    matrices = row[max(major, min(row))]
    if framework is TrainingFramework.PYTORCH and recomputed:
        matrices *= _RECOMPUTED[major]
    elif framework is TrainingFramework.PYTORCH and compiled:
        matrices *= _COMPILED
    known = major in _FITTED[model.is_mixture].get((framework, arithmetic), set())
    same = capability in ((8, 0), (9, 0), (10, 0))
    scale = _fed(device, major) if same else _starved(device, major)
    fitted = arithmetic is Arithmetic.FP8 and device.gpu.key == "H200-141GB"
    return TrainingEfficiency(
        matrices * scale,
        _ATTENTION[framework][major] * scale,
        _EXPOSED[framework],
        Basis.MODELLED if known and same and (scale == 1.0 or fitted) else Basis.ASSUMED,
    )
