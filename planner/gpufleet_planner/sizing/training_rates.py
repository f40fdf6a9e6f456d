"""Speed of training: tokens per second from the parts of the rates that a program reaches, by
framework, arithmetic and generation of the GPU, communication and pipeline bubbles.

Matrices and attention have separate parts, because long contexts slow down attention only. Parts
are of the dense BF16 peak, also where matrices run in FP8: attention, norms and optimizer do not.
Fitted to two thirds of the runs in tests/planner/sizing/training_speeds.py (MosaicML llm-foundry,
torchtitan, NVIDIA NeMo and Megatron-Bridge); docs/sizing.md shows the other third.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

from gpufleet.findings import Finding, findings_in
from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.ledger import Basis, weakest
from gpufleet.models.parallel import Parallelism, Sharding
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.sizing.communication import (
    Link,
    forward_seconds,
    inside_node,
    pcie,
)
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.throughput import attention_flops, device_rate, kind_of_model
from gpufleet_planner.sizing.training import Training, TrainingMethod
from gpufleet_planner.sizing.training_state import (
    Arithmetic,
    Checkpointing,
    Optimizer,
    TrainingFramework,
    TrainingPrecision,
    adapter_parameters,
)
from gpufleet_planner.tables import row_of

_finding = findings_in(__file__)


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


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """Speed of one job. Modelled throughout."""

    tokens_per_second: float
    """Rate of all GPUs together."""
    step_seconds: float
    """One optimizer step with all its micro-batches."""
    compute_seconds: float
    communication_seconds: float
    """Gradients and weights between data-parallel ranks, per step. Overlaps with arithmetic for the
    duration of the latter."""
    exposed_seconds: float
    """Communication time without overlap, tensor and pipeline communication included."""
    flops_per_token: float
    mfu: float
    """Part of the dense BF16 peak (FP32: TF32) while arithmetic runs."""
    binding: str
    """`compute` or `communication`."""
    basis: Basis
    peak_operations: float
    """Dense operations per second of each GPU."""


def _operations(model: Architecture, training: Training) -> tuple[float, float]:
    """Operations per trained token, of the matrices and of attention.

    Forward 2*N_mul plus attention, causal so half of 4*s*d_q per layer; backward twice that, or
    once where the base is frozen and only inputs need gradients; full checkpointing computes the
    forward pass again.
    """
    passes = 3 if training.method is TrainingMethod.FULL else 2
    if training.checkpointing is Checkpointing.FULL:
        passes += 1
    matrices = 2 * count_parameters(model).multiplied
    return passes * matrices, passes * attention_flops(model, training.context) / 2


@lru_cache(maxsize=16384)
def training_speed(
    model: Architecture,
    training: Training,
    device: Device,
    parallel: Parallelism | None = None,
    link: Link | None = None,
) -> TrainingSpeed | None:
    """Speed of a job; None where the board's rates are not sourced.

    `link` joins the data-parallel ranks; default: as inside one node.
    """
    fp32 = training.method is TrainingMethod.FULL and training.precision is TrainingPrecision.FP32
    rate = device_rate(device, WEIGHT_FORMATS["fp32" if fp32 else "bf16"])
    if rate is None:
        return None
    parallel = parallel or Parallelism()
    inner = inside_node(device.gpu, device.board)
    outer = link or inside_node(device.gpu, device.board)
    reached = efficiency_of(
        model,
        device,
        training.framework,
        training.arithmetic,
        recomputed=training.checkpointing is Checkpointing.FULL,
        compiled=training.compiled,
    )
    # One data-parallel rank is the group of tensor, pipeline and context ranks that share tokens.
    group = parallel.tensor * parallel.pipeline * parallel.context
    matrices, attention = _operations(model, training)
    each = matrices + attention
    tokens = training.tokens * training.accumulation
    busy = matrices / reached.matrices + attention / reached.attention
    compute = tokens * busy / (group * rate.peak)
    stages = parallel.pipeline
    bubble = compute * (stages - 1) / (training.accumulation * training.interleaving)
    inner_passes = 2 if training.checkpointing is not Checkpointing.FULL else 3
    # Stages of a pipeline work, and communicate, at the same time.
    inner_seconds = (
        inner_passes
        * training.accumulation
        * forward_seconds(model, training.tokens / parallel.context, parallel, inner)
        * reached.exposed
        / stages
    )
    exchange = 0.0
    if parallel.data > 1:
        own = exchanged_bytes(model, training, parallel) / (parallel.tensor * parallel.pipeline)
        # Data ranks on one machine receive the same bytes: between machines they pass once.
        together = max(1, min(parallel.data, outer.sharers // (parallel.tensor * parallel.context)))
        rates = (outer.bytes_per_second * together, inner.bytes_per_second)
        exchange = own * (parallel.data - 1) / parallel.data / min(rates)
    exposed = inner_seconds + max(exchange - compute, 0.0)
    if training.optimizer is Optimizer.ADAMW_OFFLOADED:
        exposed += _host_step_seconds(model, training, parallel, device, outer.sharers)
    step = compute + bubble + exposed
    return TrainingSpeed(
        tokens_per_second=tokens * parallel.data / step,
        step_seconds=step,
        compute_seconds=compute,
        communication_seconds=exchange + inner_seconds,
        exposed_seconds=exposed,
        flops_per_token=each,
        mfu=each / busy,
        binding="communication" if exposed > compute else "compute",
        basis=weakest((reached.basis, model.basis)),
        peak_operations=rate.peak,
    )


_HOST_ADAM = 0.25e-9
"""Planning constant: seconds of one machine's CPUs for the step of one parameter."""


def _host_step_seconds(
    model: Architecture, training: Training, parallel: Parallelism, device: Device, sharers: int
) -> float:
    """The optimizer step on the CPUs: gradients move there and weights back, 2 bytes each."""
    if training.method is TrainingMethod.LORA:
        trained = adapter_parameters(model, training.rank, training.targets)
    else:
        trained = count_parameters(model).total
    ranks = parallel.tensor * parallel.pipeline
    if parallel.sharding is not Sharding.NONE:
        ranks *= parallel.data * parallel.context
    own = trained / ranks
    together = min(parallel.training_gpus, sharers if sharers > 1 else 8)
    return own * (4 / pcie(device.gpu).bytes_per_second + _HOST_ADAM * together)


def exchanged_bytes(model: Architecture, training: Training, parallel: Parallelism) -> int:
    """Bytes that the data ranks exchange per optimizer step, for the whole model; each rank moves
    its tensor and pipeline part of it, times (D-1)/D.

    Gradients are reduced in BF16: two passes of 2 bytes, one where ZeRO-3 keeps them divided.
    ZeRO-3 gathers the weights twice for each micro-batch, forward and backward: 2 bytes a
    parameter, and a frozen base as it is stored.
    """
    gathers = 2 * training.accumulation if parallel.sharding is Sharding.ZERO3 else 0
    if training.method is TrainingMethod.LORA:
        trained = adapter_parameters(model, training.rank, training.targets)
        return gathers * weight_bytes(model, training.base).stored + 4 * trained
    passes = 1 if gathers else 2
    return 2 * (gathers + passes) * count_parameters(model).total


HOURS_BETWEEN_FAILURES = 54 * 24 * 16_384 / 419
"""Failure rate of one GPU with its part of the machine: 419 unexpected interruptions in 54 days on
16,384 H100 (The Llama 3 Herd of Models, arXiv:2407.21783, section 3.3.4)."""
CHECKPOINT_HOURS = 1.0
"""Planning constant: hours between two checkpoints."""
RESTART_HOURS = 0.25
"""Planning constant: from a failure to the next step."""


def goodput(gpus: int) -> float:
    """Productive part of the time of a job on a number of GPUs: each failure costs half a
    checkpoint interval and a restart."""
    lost = gpus / HOURS_BETWEEN_FAILURES * (CHECKPOINT_HOURS / 2 + RESTART_HOURS)
    return 1 / (1 + lost)
