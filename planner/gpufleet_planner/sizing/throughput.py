"""Peak rates and how much of them is reached (MFU and MBU), and how far published loads are
from what is computed. `data/spreads.csv`, which `tools/fit_spreads.py` writes from
`tests/data/load_points.csv`, holds the ranges; a third of the points is kept out of the fit.
"""

from dataclasses import dataclass
from functools import cache

from gpufleet.findings import Finding, findings_in
from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
)
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.formats import Compute, WeightFormat
from gpufleet.models.inference import (
    TRANSFORMERS_WORKSPACE,
    Serving,
    context_item,
    forward_workspace,
    weight_items,
    workspace_formula,
)
from gpufleet.models.ledger import INFERENCE_MARGIN, Basis, Item, Ledger, ledger
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.sizing.communication import forward_seconds, inside_node
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.tables import row_of

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class Rate:
    """Operations and bytes per second one device reaches at its best, per second."""

    unit: Compute
    """Unit that is used."""
    peak: float
    """Dense operations per second of this device's share."""
    bandwidth: float
    """Bytes per second of this device's share."""


def check_capability(device: Device, weights: WeightFormat) -> tuple[Finding, ...]:
    """Whether the GPU can run the format: BF16, FP8 and MXFP4 need compute capability 8.0, NVFP4
    10.0. Where FP8 (below 8.9) and MXFP4 (below 10.0) are weights only, a warning says so."""
    capability = device.gpu.compute_capability
    if capability is None:
        return ()
    gpu, name, have = device.gpu.key, weights.name, f"{capability[0]}.{capability[1]}"
    if capability < weights.min_capability:
        least = ".".join(map(str, weights.min_capability))
        other = "fp16" if name == "bf16" else "a wider format, or a newer GPU"
        return (
            _finding(
                "format-unsupported", gpu=gpu, value=name, capability=have, limit=least, other=other
            ),
        )
    if weights.native_capability is not None and capability < weights.native_capability:
        unit = weights.compute.value.upper()
        return (_finding("format-not-native", gpu=gpu, value=name, capability=have, unit=unit),)
    return ()


def device_rate(device: Device, weights: WeightFormat) -> Rate | None:
    """Peak rates of a device for a format; None where they are not sourced.

    Units the board lacks fall back: FP4 to BF16, INT8 and TF32 to BF16, BF16 to FP16.
    """
    rates = device.rates
    if rates is None or rates.memory_bandwidth is None:
        return None
    order = [weights.compute, Compute.BF16, Compute.FP16]
    if device.gpu.compute_capability is not None and device.gpu.compute_capability < (8, 0):
        order = [c for c in order if c is not Compute.BF16]
    for unit in order:
        peak: int | None = getattr(rates, unit.value)
        if peak:
            return Rate(
                unit,
                peak * float(device.compute_share),
                rates.memory_bandwidth * float(device.bandwidth_share),
            )
    return None


def reached(
    figure: str,
    model: Architecture,
    rate: Rate,
    device: Device,
    engine: InferenceEngine | None = None,
    weights: WeightFormat | None = None,
    gpus: int = 1,
) -> tuple[float, Basis]:
    """Share of a peak rate, and how well it is known. `prefill`: of operations, by a saturated
    prefill; `decode`: of the bandwidth, by a decode step, lower where the board has no unit of the
    format of the weights, so that a wider one multiplies them. `server`: part of its time in a step
    that the GPU waits for. `layer`, `mixture-layer`, `latent-layer`: microseconds that the kernels
    of a step wait. `gpus`: that share the layers."""
    level = device.gpu.compute_capability
    wide = rate.unit in (Compute.BF16, Compute.FP16)
    unit = "16" if wide else rate.unit.value
    quantised = weights is not None and weights.quantised
    if figure == "decode" and quantised and (wide or rate.unit is Compute.INT8):
        unit = "expanded"
    row = row_of(
        "reached",
        figure=figure,
        model=kind_of_model(model),
        unit=unit,
        weights="" if weights is None else (weights.name, "" if weights.quantised else "plain"),
        engine="" if engine is None else engine.value,
        capability=() if level is None else (f"{level[0]}.{level[1]}", f"{level[0]}", "+"),
        gpus="one" if gpus == 1 else "",
    )
    return float(row["part"]), Basis(row["basis"])


def attention_flops(model: Architecture, context: float) -> float:
    """Operations of the attention scores of one token that sees `context` others: 4*s*d_q a layer,
    windows bounded."""
    total = 0.0
    for group in model.groups:
        mixer = group.mixer
        if isinstance(mixer, Attention):
            seen = context if mixer.window is None else min(context, mixer.window)
            total += group.count * 4 * seen * mixer.query_width
        elif isinstance(mixer, CompressedAttention):
            seen = min(context, mixer.window) + (context / mixer.ratio if mixer.ratio else 0)
            total += group.count * 4 * seen * mixer.query_width
        elif isinstance(mixer, LatentAttention):
            total += (
                group.count
                * 2
                * context
                * mixer.heads
                * (mixer.nope_dim + mixer.rope_dim + mixer.value_dim)
            )
    return total


WIDE = 2.5
"""Highest by lowest time from which a range is too wide to buy by."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Lowest and highest time per token under load, as parts of the computed one; throughput: the
    inverse. Another load test is inside in 95 % (tools/fit_spreads.py)."""

    least: float
    most: float
    points: int
    """Published load tests that it is fitted to."""

    @property
    def note(self) -> str:
        """One sentence where the spread is too wide to buy by."""
        if self.most / self.least <= WIDE:
            return ""
        return f"{self.points} similar load tests are public: measure before you buy"


ServedKind = tuple[str, str, str]
"""`dense` or `mixture`, the engine, and the bits of the weights: `16`, `8` or `4`."""


def kind_of(model: Architecture, engine: InferenceEngine, weights: WeightFormat) -> ServedKind:
    """Kind of a served model in `spreads.csv`. Bits are of a matrix element, without scales."""
    size = float(weights.bytes_per_parameter)
    bits = "16" if size > 1.5 else "8" if size > 0.75 else "4"
    return kind_of_model(model), engine.value, bits


def kind_of_model(model: Architecture) -> str:
    """`dense` or `mixture`."""
    return "mixture" if model.is_mixture else "dense"


@cache
def spread_of(kind: ServedKind, *, burst: bool = False) -> Spread:
    """The spread of a steady load, or of prompts that come all at once. A kind without its own row
    has the row of the others at its place."""
    model, engine, bits = kind
    load = "burst" if burst else "steady"
    row = row_of("spreads", kind=model, load=load, engine=engine, bits=bits)
    return Spread(float(row["least"]), float(row["most"]), int(row["points"]))


def embedding_ledger(
    model: Architecture, serving: Serving, parallel: Parallelism | None = None
) -> Ledger:
    """Weights, one forward pass over batch x context tokens, workspace and context. No cache: keys
    and values of one layer at a time are part of the pass."""
    parallel = parallel or Parallelism()
    tokens = serving.batch * serving.context
    fp32 = serving.computes_in_fp32
    forward = forward_workspace(model, tokens, parallel.tensor, fp32=fp32)
    return ledger(
        [
            *weight_items(model, serving, parallel),
            Item(
                "activations",
                forward,
                Basis.MODELLED if model.causal else Basis.ASSUMED,
                workspace_formula(tokens, forward, parallel.tensor),
            ),
            Item("workspace", TRANSFORMERS_WORKSPACE, Basis.ASSUMED, "0.04 GiB"),
            context_item(),
        ],
        INFERENCE_MARGIN,
    )


@dataclass(frozen=True, slots=True)
class EmbeddingSpeed:
    """Speed of one replica."""

    batch_seconds: float
    """One forward pass over the batch."""
    tokens_per_second: float
    """Input tokens."""
    mfu: float
    basis: Basis


def embedding_speed(
    model: Architecture,
    serving: Serving,
    device: Device,
    parallel: Parallelism | None = None,
) -> EmbeddingSpeed | None:
    """Like a saturated prefill; None where the board's rates are not sourced."""
    rate = device_rate(device, serving.weights)
    if rate is None:
        return None
    parallel = parallel or Parallelism()
    mfu, _ = reached("prefill", model, rate, device)
    tokens = serving.batch * serving.context
    # Embeddings are looked up: of an encoder's parameters only the layers multiply.
    count = count_parameters(model)
    work = tokens * (2 * count.multiplied + attention_flops(model, serving.context))
    seconds = work / (parallel.serving_gpus * rate.peak * mfu)
    seconds += forward_seconds(model, tokens, parallel, inside_node(device.gpu, device.board))
    return EmbeddingSpeed(seconds, tokens / seconds, mfu, Basis.ASSUMED)
