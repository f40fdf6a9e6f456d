"""Scaling: the signal by which a workload scales."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import (
    DnsLabel,
    SecretName,
    SpecModel,
)


class WorkloadKind(StrEnum):
    """Kind of the workload, which decides the signal."""

    LLM_SERVING = "llmServing"
    """A server that batches requests: vLLM, NIM, TGI. By requests, never by GPU utilisation."""
    SERVING = "serving"
    """A server without batching: each request keeps its share of the GPU busy."""
    BATCH = "batch"
    """Work from a queue: by the queue length."""


class Signal(StrEnum):
    """What is measured."""

    REQUESTS_RUNNING = "requestsRunning"
    """`vllm:num_requests_running`, requests in flight in each replica."""
    REQUESTS_WAITING = "requestsWaiting"
    """`vllm:num_requests_waiting`, requests that are in no batch yet."""
    KV_CACHE = "kvCache"
    """`vllm:kv_cache_usage_perc`, used share of the KV cache, 0 to 1."""
    TENSOR_ACTIVE = "tensorActive"
    """Activity of the tensor cores, 0 to 1 (DCGM)."""
    GPU_UTILISATION = "gpuUtilisation"
    """Time with a running kernel, 0 to 1 (DCGM). A weak signal, and not available on MIG slices."""
    QUEUE_LENGTH = "queueLength"
    """Length of a queue outside the pods, by a custom query."""


class ScalingTarget(SpecModel):
    """What is scaled."""

    name: DnsLabel
    """Name of the workload."""
    namespace: DnsLabel
    """Its namespace."""
    kind: str = Field(default="Deployment", pattern=r"^[A-Z][A-Za-z]+$")
    """Any kind with a scale subresource: Deployment (default), StatefulSet, NIMService, ..."""
    api_version: str = "apps/v1"
    """Default `apps/v1`."""


class ScaleThresholds(SpecModel):
    """Replicas are added while the average of a signal is above one threshold, and removed after it
    was below the other for a time; between the two the number does not change.

    The defaults are those of Packt, *Kubernetes for Generative AI Solutions*, chapter 10, Scaling
    and optimization considerations (read 2026-11-29).
    """

    above: float = Field(default=0.8, gt=0, le=1)
    """Value above which replicas are added, more than 0, at most 1. Default 0.8."""
    below: float = Field(default=0.2, gt=0, lt=1)
    """Value below which one is removed, more than 0, less than `above`. Default 0.2."""
    minutes: int = Field(default=10, ge=1, le=60)
    """Time below it before a removal, 1 to 60 minutes. Default 10."""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.below >= self.above:
            raise ValueError(f"below {self.below:g} is not less than above {self.above:g}")
        return self


class ScaleOn(SpecModel):
    """One signal and its target."""

    signal: Signal
    """What is measured."""
    target: float | None = Field(default=None, gt=0)
    """Intended value of one replica; above it replicas are added. Default: 0.8 for kvCache and
    tensorActive, 0.7 for gpuUtilisation; other signals have none."""
    thresholds: ScaleThresholds | None = None
    """Two thresholds instead of a target, for gpuUtilisation and tensorActive, with KEDA."""
    query: str | None = Field(default=None, min_length=1, max_length=4000)
    """PromQL that returns one number, instead of the built-in query. Needed for queueLength."""
    activation: float = Field(default=0, ge=0)
    """KEDA: value above which the first replica starts. Default 0."""


class LoadTime(SpecModel):
    """Time until a new replica answers."""

    node_seconds: int = Field(default=180, ge=0, le=7200)
    """A new node with its driver, 0 to 7200 s. Default 180."""
    model_seconds: int = Field(default=120, ge=0, le=7200)
    """Image and weights, 0 to 7200 s. Default 120."""

    @property
    def total(self) -> int:
        """Seconds from the decision to the first answer."""
        return self.node_seconds + self.model_seconds


class TriggerSecret(SpecModel):
    """A parameter of KEDA's authentication from a Secret; never its content."""

    parameter: Literal[
        "bearerToken",
        "username",
        "password",
        "ca",
        "cert",
        "key",
        "customAuthHeader",
        "customAuthValue",
    ]
    """Parameter of KEDA's Prometheus scaler."""
    secret: SecretName
    """Name of the Secret, in the workload's namespace."""
    key: Annotated[str, StringConstraints(min_length=1, max_length=253)]
    """Key in it."""


class Fallback(SpecModel):
    """Number of replicas while the signal cannot be read."""

    failures: int = Field(default=3, ge=1, le=100)
    """Number of failed readings before, 1 to 100. Default 3."""
    replicas: int = Field(ge=0, le=10_000)
    """Replicas meanwhile."""


class KedaScaling(SpecModel):
    """The signals, and the minimum and maximum, of scaling by KEDA."""

    target: ScalingTarget
    """What is scaled."""
    workload: WorkloadKind = WorkloadKind.LLM_SERVING
    """Default llmServing."""
    min: int = Field(ge=0, le=10_000)
    """Minimum number of replicas. 0 only with a signal that exists without pods."""
    max: int = Field(ge=1, le=10_000)
    """Maximum number of replicas. There is no default: an unbounded service has an unbounded
    cost."""
    on: Annotated[tuple[ScaleOn, ...], Field(min_length=1, max_length=8)]
    """1 to 8 signals; the one that requires most replicas decides."""
    load: LoadTime = Field(default_factory=LoadTime)
    """Start time of a replica: sets how fast one is added and removed."""
    mig: bool = False
    """Whether the pods are on MIG slices, which have no GPU utilisation. Default false."""
    server: str = Field(pattern=r"^https?://\S+$")
    """Address of Prometheus: `http://prometheus.monitoring.svc:9090`."""
    polling_seconds: int = Field(default=30, ge=5, le=3600)
    """Polling interval of the signal while there are no replicas, 5 to 3600 s. Default 30."""
    cooldown_seconds: int | None = Field(default=None, ge=0, le=86_400)
    """Time without activity before the last replica is removed, 0 to 86400 s. Default: twice the
    start time, at least 300."""
    fallback: Fallback | None = None
    """Default: with `min: 0` one replica, else `min`."""
    authentication: str | None = Field(default=None, min_length=1, max_length=63)
    """Name of an existing TriggerAuthentication in the namespace. Default: none."""
    secrets: tuple[TriggerSecret, ...] = ()
    """Creates a TriggerAuthentication from these, instead of naming one. Default: none."""
    auth_modes: Literal["basic", "bearer", "tls", "custom"] | None = None
    """Authentication modes of KEDA; required with secrets. Default: none."""
