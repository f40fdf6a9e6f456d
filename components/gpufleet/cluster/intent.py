"""Intent: the declared purpose of a workload, or a guess from its command line."""

from dataclasses import dataclass
from decimal import Decimal

from gpufleet.cluster.fact import NOTHING, Fact

PREFIX = "gpufleet.dev/"
"""Prefix of every annotation and label of ours."""

MODES = ("inference", "training", "batch", "interactive")
"""What a workload can be for."""


@dataclass(frozen=True, slots=True)
class WorkloadIntent:
    """Declared by annotations `gpufleet.dev/...`, else inferred."""

    model_parameters_billion: Fact[Decimal] = NOTHING
    """`model-params-b`: parameters of one model replica, in 1e9."""
    model: Fact[str] = NOTHING
    """The model its command line, variables or own fields name."""
    context_tokens: Fact[int] = NOTHING
    """The longest sequence it must hold, where its command line says so."""
    offloads: bool = False
    """Whether the engine keeps weights in the host's memory, or may."""
    precision: Fact[str] = NOTHING
    """`precision`: `fp32`, `bf16`, `fp16`, `fp8`, `int8`, `awq`, `gptq`, `nf4`, `int4`, ..."""
    mode: Fact[str] = NOTHING
    """`mode`: one of MODES."""
    min_gpu_memory_bytes: Fact[int] = NOTHING
    """`min-gpu-memory-gib`: what one replica needs, overriding the estimate from parameters."""
    latency_slo: Fact[str] = NOTHING
    """`latency-slo-ms`: a promise that may need a bigger GPU than memory alone."""
    throughput_slo: Fact[str] = NOTHING
    """`throughput-slo`: likewise."""
    environment: Fact[str] = NOTHING
    """`environment`."""
    interruptible: Fact[bool] = NOTHING
    """`interruptible`: whether it may be stopped at any time and go on later."""
    checkpoint_seconds: Fact[int] = NOTHING
    """`checkpoint-seconds`: how often it saves what it would lose."""
    culled_after: Fact[int] = NOTHING
    """`culled-after-seconds`: without a user for so long, it is stopped."""
    parallel_replicas: Fact[int] = NOTHING
    """Copies of the model inside one pod (data parallelism), from its command line."""

    @property
    def has_service_level(self) -> bool:
        """Whether a latency or throughput promise exists, or may exist."""
        return not (self.latency_slo.is_absent and self.throughput_slo.is_absent)
