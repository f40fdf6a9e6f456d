"""Intent: the declared purpose of a workload, or a guess from its command line."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpufleet_policies.facts.tristate import Fact, absent

PREFIX = "gpufleet.dev/"
"""Prefix of every annotation and label of ours."""

MODES = ("inference", "training", "batch", "interactive")
"""What a workload can be for."""


NOWHERE: Fact[Any] = absent()
"""Neither declared nor inferred."""


@dataclass(frozen=True, slots=True)
class WorkloadIntent:
    """Declared by annotations `gpufleet.dev/...`, else inferred."""

    model_parameters_billion: Fact[Decimal] = NOWHERE
    """`model-params-b`: parameters of one model replica, in 1e9."""
    model: Fact[str] = NOWHERE
    """The model its command line, variables or own fields name."""
    context_tokens: Fact[int] = NOWHERE
    """The longest sequence it must hold, where its command line says so."""
    offloads: bool = False
    """Whether the engine keeps weights in the host's memory, or may."""
    precision: Fact[str] = NOWHERE
    """`precision`: `fp32`, `bf16`, `fp16`, `fp8`, `int8`, `awq`, `gptq`, `nf4`, `int4`, ..."""
    mode: Fact[str] = NOWHERE
    """`mode`: one of MODES."""
    min_gpu_memory_bytes: Fact[int] = NOWHERE
    """`min-gpu-memory-gib`: what one replica needs, overriding the estimate from parameters."""
    latency_slo: Fact[str] = NOWHERE
    """`latency-slo-ms`: a promise that may need a bigger GPU than memory alone."""
    throughput_slo: Fact[str] = NOWHERE
    """`throughput-slo`: likewise."""
    environment: Fact[str] = NOWHERE
    """`environment`."""
    interruptible: Fact[bool] = NOWHERE
    """`interruptible`: whether it may be stopped at any time and go on later."""
    checkpoint_seconds: Fact[int] = NOWHERE
    """`checkpoint-seconds`: how often it saves what it would lose."""
    culled_after: Fact[int] = NOWHERE
    """`culled-after-seconds`: without a user for so long, it is stopped."""
    parallel_replicas: Fact[int] = NOWHERE
    """Copies of the model inside one pod (data parallelism), from its command line."""

    @property
    def has_service_level(self) -> bool:
        """Whether a latency or throughput promise exists, or may exist."""
        return not (self.latency_slo.is_absent and self.throughput_slo.is_absent)
