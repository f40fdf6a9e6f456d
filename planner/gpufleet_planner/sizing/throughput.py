"""Peak rates and how much of them is reached: MFU and MBU, with where each figure is from."""

from dataclasses import dataclass

from gpufleet.findings import Finding, error, warning
from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
)
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.formats import Compute, WeightFormat
from gpufleet.models.ledger import Basis
from gpufleet_planner.sizing.device import Device

PREFILL_MFU = 0.55
"""Saturated prefill of dense models in FP8, and in 16 bit where nothing was measured.
TensorRT-LLM's tables show 0.39 to 0.54 of the peak for 2*N operations per token alone; here
attention, communication and decoding are counted apart, so the upper end applies."""
PREFILL_MFU_16_BIT = {
    (InferenceEngine.TENSORRT_LLM, (8, 0)): 0.74,
    (InferenceEngine.TENSORRT_LLM, (9, 0)): 0.66,
    (InferenceEngine.VLLM, (9, 0)): 0.40,
}
"""By engine and compute capability. TensorRT-LLM on A100 and H100 is fitted to two thirds of the
load tests of Llama-3 in FP16 (tests/data/load_points.csv); the other third is what it is compared
with. vLLM 0.11 on H100: steps of 8,192 tokens of Qwen3-14B take 0.64 s (gpustack/gpustack @
7ae332a, its performance lab, page of Qwen3-14B on H100: P99 of the time between tokens)."""
PREFILL_MFU_FP4 = {10: 0.39, 12: 0.58}
"""By major compute capability: B200 and RTX PRO 6000; same tables (0.36 and 0.47 in all)."""
PREFILL_MFU_MIXTURE = 0.12
"""Where nothing else was measured: 0.08 of vLLM 0.11 with DeepSeek-R1 FP8 on H200, decoding and
attention apart (gpustack/gpustack @ 7ae332a), 0.08 to 0.16 in TensorRT-LLM's tables."""
PREFILL_MFU_MIXTURE_FP8 = {InferenceEngine.TENSORRT_LLM: 0.2}
"""By engine: Qwen3-235B-A22B on 8 x H200 (NVIDIA/TensorRT-LLM @ 00f3768, perf-overview.md, 2,048 +
128 tokens), 0.17 with decoding."""
PREFILL_MFU_MIXTURE_FP4 = {12: 0.33}
"""By major compute capability: Qwen3-30B-A3B on RTX PRO 6000; same row, 0.2 with decoding."""
PREFILL_MFU_MIXTURE_16_BIT = {(8, 0): 0.36}
"""By compute capability: gpt-oss-20b on one A100, 3,998 + 107 tokens, vLLM 0.11 (gpustack/gpustack
@ 7ae332a)."""
PREFILL_MFU_MIXTURE_MXFP4 = {(9, 0): 0.28}
"""By compute capability, where the format is multiplied in 16 bit: gpt-oss-20b on one H100, vLLM
0.11, where steps of 8,192 tokens take 0.227 s (gpustack/gpustack @ 7b50d50, its page of gpt-oss-20b
on H100: median of the time between tokens of prompts of 4,000)."""
MBU_NATIVE = 0.65
"""Decode on one GPU where the format is multiplied as it is stored: 0.69 in BF16 at batch 1 on
A100-80 (gpt-fast), rounded down."""
MBU_WEIGHT_ONLY = 0.5
"""Where weights are expanded first: 0.42 to 0.65 for int8 and int4, same source."""
MBU_MIXTURE_WEIGHT_ONLY = 0.42
"""Mixtures in int8 on 1 to 8 A100-80, the start of their kernels counted apart (gpt-fast @ 056f8fb,
mixtral-moe/README.md)."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Operations and bytes per second one device reaches at its best, per second."""

    unit: Compute
    """Unit that is used."""
    peak: float
    """Dense operations per second of this device's share."""
    bandwidth: float
    """Bytes per second of this device's share."""


def check_capability(
    device: Device, weights: WeightFormat, path: str = "weights"
) -> tuple[Finding, ...]:
    """Whether the GPU can run the format: BF16, FP8 and MXFP4 need compute capability 8.0, NVFP4
    10.0. Where FP8 (below 8.9) and MXFP4 (below 10.0) are weights only, a warning says so."""
    capability = device.gpu.compute_capability
    if capability is None:
        return ()
    have = f"{capability[0]}.{capability[1]}"
    if capability < weights.min_capability:
        needed = ".".join(map(str, weights.min_capability))
        instead = "fp16" if weights.name == "bf16" else "a wider format, or a newer GPU"
        return (
            error(
                "format-unsupported",
                path,
                f"{weights.name} needs compute capability {needed}; {device.gpu.key} has {have}",
                f"write {instead}",
                value=weights.name,
                capability=have,
                limit=needed,
            ),
        )
    if weights.native_capability is not None and capability < weights.native_capability:
        unit = weights.compute.value.upper()
        return (
            warning(
                "format-not-native",
                path,
                f"{device.gpu.key} (compute capability {have}) has no {unit} "
                f"units: {weights.name} weights save memory there, and are multiplied in BF16",
                value=weights.name,
            ),
        )
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


def prefill_mfu(
    model: Architecture,
    rate: Rate,
    device: Device,
    engine: InferenceEngine | None = None,
    weights: WeightFormat | None = None,
) -> tuple[float, Basis]:
    """Share of the peak a saturated prefill reaches, and how well it is known."""
    capability = device.gpu.compute_capability
    if model.is_mixture:
        return _mixture_mfu(rate, capability, engine, weights), Basis.MEASURED
    if rate.unit is Compute.FP4 and capability is not None:
        return PREFILL_MFU_FP4.get(capability[0], 0.39), Basis.MEASURED
    if rate.unit in (Compute.BF16, Compute.FP16) and engine and capability:
        measured = PREFILL_MFU_16_BIT.get((engine, capability))
        if measured is not None:
            return measured, Basis.MEASURED
    return PREFILL_MFU, Basis.MEASURED if rate.unit is Compute.FP8 else Basis.ASSUMED


def _mixture_mfu(
    rate: Rate,
    capability: tuple[int, int] | None,
    engine: InferenceEngine | None,
    weights: WeightFormat | None,
) -> float:
    found: float | None = None
    if rate.unit is Compute.FP8 and engine is not None:
        found = PREFILL_MFU_MIXTURE_FP8.get(engine)
    elif rate.unit is Compute.FP4 and capability is not None:
        found = PREFILL_MFU_MIXTURE_FP4.get(capability[0])
    elif rate.unit in (Compute.BF16, Compute.FP16) and capability is not None:
        found = PREFILL_MFU_MIXTURE_16_BIT.get(capability)
        if weights is not None and weights.name == "mxfp4":
            found = PREFILL_MFU_MIXTURE_MXFP4.get(capability, found)
    return PREFILL_MFU_MIXTURE if found is None else found


def decode_mbu(model: Architecture, weights: WeightFormat, rate: Rate) -> float:
    """Share of the bandwidth a decode step reaches: less where a unit wider than the stored weights
    multiplies them, as the board has none of theirs."""
    expanded = weights.quantised and rate.unit in (Compute.BF16, Compute.FP16, Compute.INT8)
    if not expanded:
        return MBU_NATIVE
    return MBU_MIXTURE_WEIGHT_ONLY if model.is_mixture else MBU_WEIGHT_ONLY


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
