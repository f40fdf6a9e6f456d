"""Part of a GPU's rates that a training program reaches: by framework, arithmetic and generation.

Matrices and attention have separate parts, because long contexts slow down attention only. Parts
are of the dense BF16 peak, also where matrices run in FP8: attention, norms and optimizer do not.
Fitted to two thirds of the runs in tests/planner/sizing/training_speeds.py (MosaicML llm-foundry,
torchtitan, NVIDIA NeMo and Megatron-Bridge); docs/sizing.md shows the other third.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from gpufleet.findings import Finding, findings_in
from gpufleet.models.architecture import Architecture
from gpufleet.models.ledger import Basis
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.throughput import kind_of_model
from gpufleet_planner.tables import row_of

_finding = findings_in(__file__)


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


@dataclass(frozen=True, slots=True)
class TrainingEfficiency:
    """Parts of the dense BF16 peak."""

    matrices: float
    attention: float
    exposed: float
    """Part of the communication of tensor groups that matrices do not hide."""
    basis: Basis


def _figure(figure: str, generation: int, **wanted: str) -> float:
    """One of the table, of a major compute capability."""
    row = row_of("training_reached", figure=figure, generation=str(generation), **wanted)
    return float(row["part"])


def _scale(device: Device, major: int, *, same: bool) -> float:
    """By how much more or less a GPU reaches than the one of its generation that was measured.

    `same`: of the generation itself. H200 has the units of H100 and 1.43 times its bandwidth;
    torchtitan trains 8B in FP8 1.28 times as fast on 32 H200 as on 8 H100
    (tests/planner/sizing/training_speeds.py). The root of the bandwidths, 1.20, is on the safe side
    of that; in BF16 no run was found.
    """
    rates = device.rates
    peak = None if rates is None else rates.bf16 or (None if same else rates.fp16)
    if rates is None or not peak or not rates.memory_bandwidth:
        return 1.0 if same else 0.7
    root = (_figure("ridge", major) / (peak / rates.memory_bandwidth)) ** 0.5
    if not same:
        return min(1.0, root)
    return max(1.0, root) if peak >= _figure("peak", major) else 1.0


def check_arithmetic(device: Device, arithmetic: Arithmetic) -> tuple[Finding, ...]:
    """An error where the GPU cannot multiply in the format: FP8 needs compute capability 8.9."""
    capability = device.gpu.compute_capability
    if arithmetic is Arithmetic.BF16 or capability is None or capability >= (8, 9):
        return ()
    have = f"{capability[0]}.{capability[1]}"
    gpu, value = device.gpu.key, arithmetic.value
    return (_finding("arithmetic-unsupported", gpu=gpu, capability=have, limit="8.9", value=value),)


def efficiency_of(
    model: Architecture,
    device: Device,
    framework: TrainingFramework,
    arithmetic: Arithmetic,
    *,
    recomputed: bool,
    compiled: bool,
) -> TrainingEfficiency:
    """Rates that a job reaches on a device. `recomputed`: full checkpointing.

    GPUs of other generations are `assumed`: the more operations they have for each byte of memory
    bandwidth, the smaller the part they reach, as from Ampere to Hopper.
    """
    capability = device.gpu.compute_capability or (0, 0)
    major = min(max(capability[0], 8), 10)
    way = ("recomputed" if recomputed else "compiled") if recomputed or compiled else ""
    kind = kind_of_model(model)
    matrices, attention, exposed, known = _program(kind, framework, arithmetic, major, way)
    same = capability in ((8, 0), (9, 0), (10, 0))
    scale = _scale(device, major, same=same)
    fitted = arithmetic is Arithmetic.FP8 and device.gpu.key == "H200-141GB"
    return TrainingEfficiency(
        matrices * scale,
        attention * scale,
        exposed,
        Basis.MODELLED if known and same and (scale == 1.0 or fitted) else Basis.ASSUMED,
    )


@cache
def _program(
    model: str, framework: TrainingFramework, arithmetic: Arithmetic, generation: int, way: str
) -> tuple[float, float, float, bool]:
    """Parts of matrices and attention, of communication, and whether runs of the kind are known."""
    wanted = {"model": model, "framework": framework.value}
    of = {"generation": str(generation), "arithmetic": arithmetic.value}
    row = row_of("training_reached", figure="matrices", **wanted, **of)
    faster = 1.0
    if way and framework is TrainingFramework.PYTORCH:
        faster = _figure(way, generation, **wanted)
    attention, exposed = (_figure(name, generation, **wanted) for name in ("attention", "exposed"))
    return float(row["part"]) * faster, attention, exposed, row["known"] == "fitted"
