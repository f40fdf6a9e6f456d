"""Inputs of components: what restates `gpufleet.spec.nim`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import NimModelEngineWord


class NimModelArgs(TypedDict):
    """Which of a NIM's model profiles is fetched."""

    engine: NotRequired[NimModelEngineWord]
    """One of `tensorrt_llm`, `vllm`, `sglang`. Inference engine. Default: what fits the GPU
    best."""
    tensor_parallelism: NotRequired[int]
    """GPUs one replica is spread over, 1 to 16. Default 1."""
    precision: NotRequired[str]
    """`bf16`, `fp8`. Default: what fits the GPU best."""
    profiles: NotRequired[list[str]]
    """Ids of profiles, instead of the choice above. Default: by the choice."""


class NimStorageArgs(TypedDict):
    """Where the model is kept, so that a new replica does not fetch it again."""

    size_gib: int
    """1 to 10000 GiB: weights and engine."""
    storage_class: NotRequired[str]
    """Default: the cluster's default class."""
    shared: NotRequired[bool]
    """Whether nodes may mount it together (ReadWriteMany), as several replicas on several nodes
    need it. Default false."""
    zone: NotRequired[str]
    """Zone in which the model is fetched, and so the volume made: where the pool is in one zone
    only, since a zonal disk cannot follow into another. Default: any."""


class NimScaleArgs(TypedDict):
    """The operator's own autoscaler, by the server's KV cache."""

    min: NotRequired[int]
    """Fewest replicas, 1 to 1000. Default 1."""
    max: int
    """Maximum number of replicas, 1 to 1000."""
    kv_cache: NotRequired[float]
    """Part of the KV cache in use above which a replica is added, more than 0, at most 1. Default
    0.8."""


class NimArgs(TypedDict):
    """One NIM: its model, where it runs, how it grows."""

    name: str
    """Name of the service, at most 50 characters; its cache's has a digest behind it."""
    namespace: str
    """Namespace; the Secrets below must be in it."""
    image: str
    """Image without its tag: `nvcr.io/nim/meta/llama-3.2-1b-instruct`."""
    tag: str
    """Pinned tag; `latest` is refused."""
    pool: str
    """Pool whose nodes it runs on."""
    resource: NotRequired[str]
    """What each replica asks for, as the pool's nodes advertise it. Default `nvidia.com/gpu`."""
    count: NotRequired[int]
    """How many of it, 1 to 16. Default 1."""
    model: NotRequired[NimModelArgs]
    """Default: what fits the GPU best."""
    storage: NimStorageArgs
    """Where the model is kept."""
    replicas: NotRequired[int]
    """Replicas without `scale`, 0 to 1000. Default 1."""
    scale: NotRequired[NimScaleArgs]
    """The operator's own autoscaler. Not together with a GpuScaledObject on it. Default: none."""
    auth_secret: NotRequired[str]
    """Secret with the key `NGC_API_KEY`. Default ngc-api-secret."""
    pull_secret: NotRequired[str]
    """Secret of the registry. Default ngc-secret."""
    port: NotRequired[int]
    """Port of the service. Default 8000."""
    startup_minutes: NotRequired[int]
    """How long a replica may take until it answers, 1 to 240. Default 30: an engine may have to
    be built first."""
    metrics: NotRequired[bool]
    """Whether a ServiceMonitor is made; its definition must be in the cluster. Default true."""
    monitor_labels: NotRequired[dict[str, str]]
    """Labels of the ServiceMonitor, by which a Prometheus selects it: `{"release":
    "kube-prometheus-stack"}`. Default: none."""
    queue: NotRequired[str]
    """LocalQueue its pods count against (`kueue.x-k8s.io/queue-name`). Default: none."""
