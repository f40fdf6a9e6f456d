"""NIM: NVIDIA's packaged model servers, through the NIM operator."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.base import (
    DnsLabel,
    PoolName,
    Port,
    SecretName,
    SpecModel,
)


class NimModel(SpecModel):
    """Selection of a NIM's model profile."""

    engine: Literal["tensorrt_llm", "vllm", "sglang"] | None = None
    """Inference engine. Default: the best for the GPU."""
    tensor_parallelism: int = Field(default=1, ge=1, le=16)
    """GPUs of one replica, 1 to 16. Default 1."""
    precision: str | None = Field(default=None, pattern=r"^[a-z0-9]{2,8}$")
    """`bf16`, `fp8`. Default: the best for the GPU."""
    profiles: tuple[str, ...] = ()
    """Ids of profiles, instead of the selection above. Default: by the selection."""


class NimStorage(SpecModel):
    """Storage of the model, so that a new replica does not download it again."""

    size_gib: int = Field(ge=1, le=10_000)
    """1 to 10000 GiB: weights and engine."""
    storage_class: str = ""
    """Default: the cluster's default class."""
    shared: bool = False
    """Whether several nodes may mount it (ReadWriteMany), as several replicas on several nodes
    require. Default false."""
    zone: str | None = Field(default=None, pattern=r"^[a-z0-9-]{1,63}$")
    """Zone in which the model is downloaded and the volume is created: for a pool in one zone, as a
    zonal disk cannot be attached in another. Default: any."""


class Nim(SpecModel):
    """One NIM: its model, its pool, its scaling."""

    name: DnsLabel
    """Name of the service, at most 50 characters; the name of its cache has a digest as suffix."""
    namespace: DnsLabel
    """Namespace; the Secrets below must be in it."""
    image: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.:/_-]+$", min_length=3)]
    """Image without its tag: `nvcr.io/nim/meta/llama-3.2-1b-instruct`."""
    tag: Annotated[str, StringConstraints(pattern=r"^[\w][\w.-]{0,127}$")]
    """Pinned tag; `latest` is refused."""
    pool: PoolName
    """Pool whose nodes it runs on."""
    resource: str = Field(default="nvidia.com/gpu", pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")
    """Resource that each replica requests, as nodes advertise it. Default `nvidia.com/gpu`."""
    count: int = Field(default=1, ge=1, le=16)
    """Number of units, 1 to 16. Default 1."""
    model: NimModel = Field(default_factory=NimModel)
    """Default: the best for the GPU."""
    storage: NimStorage
    """Storage of the model."""
    replicas: int = Field(default=1, ge=0, le=1000)
    """Replicas at first, 0 to 1000; a GpuScaledObject changes them. Default 1."""
    auth_secret: SecretName = "ngc-api-secret"  # noqa: S105  the name of a Secret
    """Secret with the key `NGC_API_KEY`. Default ngc-api-secret."""
    pull_secret: SecretName = "ngc-secret"  # noqa: S105  the name of a Secret
    """Secret of the registry. Default ngc-secret."""
    port: Port = 8000
    """Port of the service. Default 8000."""
    startup_minutes: int = Field(default=30, ge=1, le=240)
    """Maximum time until a replica answers, in minutes, 1 to 240. Default 30: an engine may have to
    be built first."""
    metrics: bool = True
    """Whether to create a ServiceMonitor; the cluster must have its definition. Default true."""
    monitor_labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Labels of the ServiceMonitor, by which a Prometheus selects it:
    `{"release": "kube-prometheus-stack"}`. Default: none."""
    queue: DnsLabel | None = None
    """LocalQueue of its pods (`kueue.x-k8s.io/queue-name`). Default: none."""
