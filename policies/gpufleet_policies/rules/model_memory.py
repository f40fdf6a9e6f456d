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

MARGIN = Decimal("1.2")
OVERHEAD_BYTES = GIB


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What one replica needs."""

    bytes: int
    provenance: Provenance
    because: str
    """How the figure came about, in words."""

    def __str__(self) -> str:
        return f"{gib(self.bytes)} ({self.because})"


def memory_need(intent: Intent) -> MemoryNeed | None:
    """The need of one model replica; None when nothing says, or a part of it is not known."""
    declared = intent.min_gpu_memory_bytes
    if declared.is_known:
        because = "declared by gpufleet.dev/min-gpu-memory-gib"
        return MemoryNeed(declared.value, declared.provenance, because)
    parameters, precision = intent.model_parameters_billion, intent.precision
    if declared.is_unknown or not parameters.is_known or precision.is_unknown:
        return None
    # 16 bit is what engines load unless told otherwise.
    width = BYTES_PER_PARAMETER.get(precision.value if precision.is_known else "bf16")
    if width is None:
        return None
    need = parameters.value * 10**9 * width * MARGIN + OVERHEAD_BYTES
    evidence = [parameters.provenance]
    if precision.is_known:
        evidence.append(precision.provenance)
    named = precision.value if precision.is_known else "bf16"
    kind = "declared" if min(evidence) is Provenance.DECLARED else "inferred"
    because = f"estimated for {parameters.value.normalize():f} B parameters in {named}, {kind}"
    return MemoryNeed(int(need), min(evidence), because)


def gib(amount: int) -> str:
    """Bytes as people read them."""
    return f"{amount / GIB:.1f} GiB"
