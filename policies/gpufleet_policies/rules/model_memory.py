"""GPU memory one replica of a model needs for inference: declared, or estimated on the high side.

Bytes per parameter follow the weight formats; a fifth on top stands for KV cache and activations,
and 1 GiB for the CUDA context and the engine. A figure of one's own is declared with
`gpufleet.dev/min-gpu-memory-gib`.
"""

from dataclasses import dataclass
from decimal import Decimal

from gpufleet_policies.facts import Intent, Provenance

GIB = 1 << 30

BYTES_PER_PARAMETER = {
    "fp32": Decimal(4),
    "float32": Decimal(4),
    "bf16": Decimal(2),
    "bfloat16": Decimal(2),
    "fp16": Decimal(2),
    "float16": Decimal(2),
    "half": Decimal(2),
    # Embeddings, head and norms stay in 16 bit: a tenth more than a byte covers models from 7 B.
    "fp8": Decimal("1.1"),
    "int8": Decimal("1.1"),
    "w8a8": Decimal("1.1"),
    "bitsandbytes": Decimal("1.1"),
    "bitsandbytes-int8": Decimal("1.1"),
    # Half a byte, scales, and embeddings and head in 16 bit.
    "int4": Decimal("0.7"),
    "awq": Decimal("0.7"),
    "gptq": Decimal("0.7"),
    "nf4": Decimal("0.7"),
    "w4a16": Decimal("0.7"),
    "bitsandbytes-nf4": Decimal("0.7"),
    "mxfp4": Decimal("0.7"),
    "nvfp4": Decimal("0.7"),
}
"""Bytes each parameter takes in memory, by the name of the weight format."""

OLDEST_CAPABILITY = {
    "fp32": (0, 0),
    "float32": (0, 0),
    "fp16": (5, 3),
    "float16": (5, 3),
    "half": (5, 3),
    "int8": (7, 0),
    "awq": (7, 5),
    "gptq": (7, 0),
    "nf4": (7, 0),
    "bitsandbytes": (7, 0),
    "fp8": (8, 9),
    "nvfp4": (10, 0),
}
"""Oldest compute capability whose kernels run a format; what is not named needs (8, 0), as bf16
does (CUDA programming guide, arithmetic by compute capability; vLLM's quantisation table)."""

BF16_CAPABILITY = (8, 0)

MARGIN = Decimal("1.2")
OVERHEAD_BYTES = GIB


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What one replica needs."""

    bytes: int
    provenance: Provenance
    because: str
    """How the figure came about, in words."""
    capability: tuple[int, int] = BF16_CAPABILITY
    """Oldest compute capability that runs the model's format."""

    def __str__(self) -> str:
        return f"{gib(self.bytes)} ({self.because})"


def memory_need(intent: Intent) -> MemoryNeed | None:
    """The need of one model replica; None when nothing says, or a part of it is not known."""
    declared, precision = intent.min_gpu_memory_bytes, intent.precision
    if declared.is_unknown or precision.is_unknown:
        return None
    # 16 bit is what engines load unless told otherwise.
    format_name = precision.value if precision.is_known else "bf16"
    capability = OLDEST_CAPABILITY.get(format_name, BF16_CAPABILITY)
    if declared.is_known:
        because = "declared by gpufleet.dev/min-gpu-memory-gib"
        return MemoryNeed(declared.value, declared.provenance, because, capability)
    parameters = intent.model_parameters_billion
    width = BYTES_PER_PARAMETER.get(format_name)
    if not parameters.is_known or width is None:
        return None
    need = parameters.value * 10**9 * width * MARGIN + OVERHEAD_BYTES
    evidence = [parameters.provenance]
    if precision.is_known:
        evidence.append(precision.provenance)
    kind = "declared" if min(evidence) is Provenance.DECLARED else "inferred"
    size = f"{parameters.value.normalize():f}"
    because = f"estimated for {size} B parameters in {format_name}, {kind}"
    return MemoryNeed(int(need), min(evidence), because, capability)


def gib(amount: int) -> str:
    """Bytes as people read them."""
    return f"{amount / GIB:.1f} GiB"
