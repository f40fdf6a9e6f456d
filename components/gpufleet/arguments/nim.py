"""Inputs of components: what restates `gpufleet.spec.nim`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import NimModelEngineWord


class NimModelArgs(TypedDict):
    """Selection of a NIM's model profile."""

    engine: NotRequired[NimModelEngineWord]
    """One of `tensorrt_llm`, `vllm`, `sglang`. Inference engine. Default: the best for the
    GPU."""
    tensor_parallelism: NotRequired[int]
    """GPUs of one replica, 1 to 16. Default 1."""
    precision: NotRequired[str]
    """`bf16`, `fp8`. Default: the best for the GPU."""
    profiles: NotRequired[list[str]]
    """Ids of profiles, instead of the selection above. Default: by the selection."""


class NimStorageArgs(TypedDict):
    """Storage of the model, so that a new replica does not download it again."""

    size_gib: int
    """1 to 10000 GiB: weights and engine."""
    storage_class: NotRequired[str]
    """Default: the cluster's default class."""
    shared: NotRequired[bool]
    """Whether several nodes may mount it (ReadWriteMany), as several replicas on several nodes
    require. Default false."""
    zone: NotRequired[str]
    """Zone in which the model is downloaded and the volume is created: for a pool in one zone, as
    a zonal disk cannot be attached in another. Default: any."""


class NimArgs(TypedDict):
    """One NIM: its model, its pool, its scaling."""

    name: str
    """Name of the service, at most 50 characters; the name of its cache has a digest as
    suffix."""
    namespace: str
    """Namespace; the Secrets below must be in it."""
    image: str
    """Image without its tag: `nvcr.io/nim/meta/llama-3.2-1b-instruct`."""
    tag: str
    """Pinned tag; `latest` is refused."""
    pool: str
    """Pool whose nodes it runs on."""
    resource: NotRequired[str]
    """Resource that each replica requests, as nodes advertise it. Default `nvidia.com/gpu`."""
    count: NotRequired[int]
    """Number of units, 1 to 16. Default 1."""
    model: NotRequired[NimModelArgs]
    """Default: the best for the GPU."""
    storage: NimStorageArgs
    """Storage of the model."""
    replicas: NotRequired[int]
    """Replicas at first, 0 to 1000; a GpuScaledObject changes them. Default 1."""
    auth_secret: NotRequired[str]
    """Secret with the key `NGC_API_KEY`. Default ngc-api-secret."""
    pull_secret: NotRequired[str]
    """Secret of the registry. Default ngc-secret."""
    port: NotRequired[int]
    """Port of the service. Default 8000."""
    startup_minutes: NotRequired[int]
    """Maximum time until a replica answers, in minutes, 1 to 240. Default 30: an engine may have
    to be built first."""
    metrics: NotRequired[bool]
    """Whether to create a ServiceMonitor; the cluster must have its definition. Default true."""
    monitor_labels: NotRequired[dict[str, str]]
    """Labels of the ServiceMonitor, by which a Prometheus selects it: `{"release":
    "kube-prometheus-stack"}`. Default: none."""
    queue: NotRequired[str]
    """LocalQueue of its pods (`kueue.x-k8s.io/queue-name`). Default: none."""
