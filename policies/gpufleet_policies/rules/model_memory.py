"""GPU memory one replica of a model needs for inference: declared, or estimated by `sizing`.

Where only the number of parameters is known, a usual service is assumed: eight sequences at a time,
at most 8,192 tokens each, 1,024 in and 512 out on average. Declare another figure with
`gpufleet.dev/min-gpu-memory-gib`.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from gpufleet_policies.facts import Provenance, WorkloadIntent

GIB = 1 << 30

ENGINE_NAMES = {
    "bitsandbytes": "int8",
    "bitsandbytes-nf4": "nf4",
    "bitsandbytes-fp4": "nf4",
    "awq_marlin": "awq-int4",
    "gptq_marlin": "gptq-int4",
    "w4a16": "gptq-int4",
    "w8a8": "int8",
}
"""What vLLM and TGI call a format -> its name in `sizing`; the larger one where it is ambiguous."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """What one replica needs."""

    bytes: int
    provenance: Provenance
    because: str
    """How the figure came about, in words."""
    capability: tuple[int, int]
    """Oldest compute capability that runs the model's format."""

    def __str__(self) -> str:
        return f"{gib(self.bytes)} ({self.because})"


def memory_need(intent: WorkloadIntent) -> MemoryNeed | None:
    """The need of one model replica; None when nothing says, or a part of it is not known."""
    declared, precision = intent.min_gpu_memory_bytes, intent.precision
    parameters = intent.model_parameters_billion
    if declared.is_unknown or precision.is_unknown:
        return None
    if not declared.is_known and not parameters.is_known:
        return None
    # Engines load 16-bit weights by default.
    name = precision.value if precision.is_known else "bf16"
    if declared.is_known:
        found = _format(name)
        if found is None:
            return None
        because = "declared by gpufleet.dev/min-gpu-memory-gib"
        return MemoryNeed(declared.value, declared.provenance, because, found)
    estimated = _estimated(int(parameters.value * 10**9), name)
    if estimated is None:
        return None
    evidence = [parameters.provenance]
    if precision.is_known:
        evidence.append(precision.provenance)
    kind = "declared" if min(evidence) is Provenance.DECLARED else "inferred"
    size = f"{parameters.value.normalize():f}"
    because = f"estimated for {size} B parameters in {name}, {kind}"
    need, capability = estimated
    return MemoryNeed(need, min(evidence), because, capability)


# `sizing` takes a third of a second to import: only programs that name a model pay for it.


@cache
def _format(name: str) -> tuple[int, int] | None:
    """Lowest compute capability that runs a format; None for an unknown name."""
    from gpufleet.sizing.formats import WeightFormat, find_weight_format

    found = find_weight_format(ENGINE_NAMES.get(name, name))
    return found.min_capability if isinstance(found, WeightFormat) else None


@cache
def _estimated(parameters: int, name: str) -> tuple[int, tuple[int, int]] | None:
    """Bytes with planning margin, and the oldest capability; None for what cannot be sized."""
    from gpufleet.sizing.formats import WeightFormat, find_weight_format
    from gpufleet.sizing.inference import Serving, serving_ledger
    from gpufleet.sizing.stated_size import from_parameter_count, stated_parameters

    found = find_weight_format(ENGINE_NAMES.get(name, name))
    if not isinstance(found, WeightFormat) or stated_parameters(str(parameters)) is None:
        return None
    usual = Serving(8192, batch=8, prompt_tokens=1024, output_tokens=512, weights=found)
    need = serving_ledger(from_parameter_count(parameters), usual).planning_bytes
    return need, found.min_capability


def largest_model(
    memory: int, precision: str, capability: tuple[int, int] | None
) -> Decimal | None:
    """Most parameters, in 1e9 down to one decimal, that are estimated to fit in `memory` bytes.

    None for an unknown format, and for a format that a GPU of this capability does not run.
    """
    oldest = _format(precision)
    if oldest is None or capability is None or oldest > capability:
        return None
    fits, beyond = 0, 10_000  # in tenths of 1e9
    while beyond - fits > 1:
        tried = (fits + beyond) // 2
        estimated = _estimated(tried * 10**8, precision)
        if estimated is not None and estimated[0] <= memory:
            fits = tried
        else:
            beyond = tried
    return Decimal(fits) / 10


def gib(amount: int) -> str:
    """Bytes as people read them."""
    return f"{amount / GIB:.1f} GiB"
