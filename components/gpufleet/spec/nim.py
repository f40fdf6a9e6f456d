"""NIM: NVIDIA's packaged model servers, through the NIM operator."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import (
    DnsLabel,
    PoolName,
    Port,
    SecretName,
    SpecModel,
)


class NimModel(SpecModel):
    """Which of a NIM's model profiles is fetched."""

    engine: Literal["tensorrt_llm", "vllm", "sglang"] | None = None
    """Inference engine. Default: what fits the GPU best."""
    tensor_parallelism: int = Field(default=1, ge=1, le=16)
    """GPUs one replica is spread over, 1 to 16. Default 1."""
    precision: str | None = Field(default=None, pattern=r"^[a-z0-9]{2,8}$")
    """`bf16`, `fp8`. Default: what fits the GPU best."""
    profiles: tuple[str, ...] = ()
    """Ids of profiles, instead of the choice above. Default: by the choice."""


class NimStorage(SpecModel):
    """Where the model is kept, so that a new replica does not fetch it again."""

    size_gib: int = Field(ge=1, le=10_000)
    """1 to 10000 GiB: weights and engine."""
    storage_class: str = ""
    """Default: the cluster's default class."""
    shared: bool = False
    """Whether nodes may mount it together (ReadWriteMany), as several replicas on several nodes
    need it. Default false."""
    zone: str | None = Field(default=None, pattern=r"^[a-z0-9-]{1,63}$")
    """Zone in which the model is fetched, and so the volume made: where the pool is in one zone
    only, since a zonal disk cannot follow into another. Default: any."""


class NimScale(SpecModel):
    """The operator's own autoscaler, by the server's KV cache."""

    min: int = Field(default=1, ge=1, le=1000)
    """Fewest replicas, 1 to 1000. Default 1."""
    max: int = Field(ge=1, le=1000)
    """Maximum number of replicas, 1 to 1000."""
    kv_cache: float = Field(default=0.8, gt=0, le=1)
    """Part of the KV cache in use above which a replica is added, more than 0, at most 1. Default
    0.8."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min > self.max:
            raise ValueError(
                f"min {self.min} is greater than max {self.max}; write max: {self.min}"
            )
        return self


class Nim(SpecModel):
    """One NIM: its model, where it runs, how it grows."""

    name: DnsLabel
    """Name of the service, at most 50 characters; its cache's has a digest behind it."""
    namespace: DnsLabel
    """Namespace; the Secrets below must be in it."""
    image: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.:/_-]+$", min_length=3)]
    """Image without its tag: `nvcr.io/nim/meta/llama-3.2-1b-instruct`."""
    tag: Annotated[str, StringConstraints(pattern=r"^[\w][\w.-]{0,127}$")]
    """Pinned tag; `latest` is refused."""
    pool: PoolName
    """Pool whose nodes it runs on."""
    resource: str = Field(default="nvidia.com/gpu", pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")
    """What each replica asks for, as the pool's nodes advertise it. Default `nvidia.com/gpu`."""
    count: int = Field(default=1, ge=1, le=16)
    """How many of it, 1 to 16. Default 1."""
    model: NimModel = Field(default_factory=NimModel)
    """Default: what fits the GPU best."""
    storage: NimStorage
    """Where the model is kept."""
    replicas: int = Field(default=1, ge=0, le=1000)
    """Replicas without `scale`, 0 to 1000. Default 1."""
    scale: NimScale | None = None
    """The operator's own autoscaler. Not together with a GpuScaledObject on it. Default: none."""
    auth_secret: SecretName = "ngc-api-secret"  # noqa: S105  the name of a Secret
    """Secret with the key `NGC_API_KEY`. Default ngc-api-secret."""
    pull_secret: SecretName = "ngc-secret"  # noqa: S105  the name of a Secret
    """Secret of the registry. Default ngc-secret."""
    port: Port = 8000
    """Port of the service. Default 8000."""
    startup_minutes: int = Field(default=30, ge=1, le=240)
    """How long a replica may take until it answers, 1 to 240. Default 30: an engine may have to be
    built first."""
    metrics: bool = True
    """Whether a ServiceMonitor is made; its definition must be in the cluster. Default true."""
    monitor_labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Labels of the ServiceMonitor, by which a Prometheus selects it:
    `{"release": "kube-prometheus-stack"}`. Default: none."""
    queue: DnsLabel | None = None
    """LocalQueue its pods count against (`kueue.x-k8s.io/queue-name`). Default: none."""
