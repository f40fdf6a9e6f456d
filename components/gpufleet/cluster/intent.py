"""WorkloadIntent: the declared purpose of a workload, or an estimate from its command line."""

from dataclasses import dataclass
from decimal import Decimal

from gpufleet.cluster.fact import NOTHING, Fact

PREFIX = "gpufleet.dev/"
"""Prefix of gpufleet's annotations and labels."""

MODES = ("inference", "training", "batch", "interactive")
"""Possible purposes of a workload."""


@dataclass(frozen=True, slots=True)
class WorkloadIntent:
    """Declared by annotations `gpufleet.dev/...`, else inferred."""

    model_parameters_billion: Fact[Decimal] = NOTHING
    """`model-params-b`: parameters of one model replica, in 1e9."""
    model: Fact[str] = NOTHING
    """The model that its command line, variables or fields name."""
    context_tokens: Fact[int] = NOTHING
    """Maximum sequence length, if its command line gives one."""
    step_tokens: Fact[int] = NOTHING
    """Maximum tokens of one step of the engine, if its command line gives them."""
    offloads: bool = False
    """Whether the engine keeps weights in the host's memory, or may."""
    precision: Fact[str] = NOTHING
    """`precision`: `fp32`, `bf16`, `fp16`, `fp8`, `int8`, `awq`, `gptq`, `nf4`, `int4`, ..."""
    mode: Fact[str] = NOTHING
    """`mode`: one of MODES."""
    min_gpu_memory_bytes: Fact[int] = NOTHING
    """`min-gpu-memory-gib`: memory of one replica; replaces the estimate from parameters."""
    latency_slo: Fact[str] = NOTHING
    """`latency-slo-ms`: a service level that may need a larger GPU than memory alone."""
    throughput_slo: Fact[str] = NOTHING
    """`throughput-slo`: likewise."""
    sized_by: Fact[str] = NOTHING
    """`sized-by`: what chose its GPUs as the cheapest of those that it may use."""
    environment: Fact[str] = NOTHING
    """`environment`."""
    interruptible: Fact[bool] = NOTHING
    """`interruptible`: whether it may be stopped at any time and continue later."""
    checkpoint_seconds: Fact[int] = NOTHING
    """`checkpoint-seconds`: interval between its checkpoints."""
    culled_after: Fact[int] = NOTHING
    """`culled-after-seconds`: time without a user after which it is stopped."""
    parallel_replicas: Fact[int] = NOTHING
    """Copies of the model inside one pod (data parallelism), from its command line."""

    @property
    def has_chosen_size(self) -> bool:
        """Whether a latency or throughput service level, or a plan, decides its GPUs, or may."""
        chosen = (self.latency_slo, self.throughput_slo, self.sized_by)
        return not all(one.is_absent for one in chosen)
