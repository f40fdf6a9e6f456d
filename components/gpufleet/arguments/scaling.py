"""Inputs of components: what restates `gpufleet.spec.scaling`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import (
    KedaScalingAuthModesWord,
    SignalWord,
    TriggerSecretParameterWord,
    WorkloadKindWord,
)


class ScalingTargetArgs(TypedDict):
    """What is scaled."""

    name: str
    """Name of the workload."""
    namespace: str
    """Its namespace."""
    kind: NotRequired[str]
    """Any kind with a scale subresource: Deployment (default), StatefulSet, NIMService, ..."""
    api_version: NotRequired[str]
    """Default `apps/v1`."""


class ScaleThresholdsArgs(TypedDict):
    """Replicas are added while the average of a signal is above one threshold, and removed after
    it was below the other for a time; between the two the number does not change. The defaults
    are those of Packt, *Kubernetes for Generative AI Solutions*, chapter 10, Scaling and
    optimization considerations (read 2026-11-29)."""

    above: NotRequired[float]
    """Value above which replicas are added, more than 0, at most 1. Default 0.8."""
    below: NotRequired[float]
    """Value below which one is removed, more than 0, less than `above`. Default 0.2."""
    minutes: NotRequired[int]
    """Time below it before a removal, 1 to 60 minutes. Default 10."""


class ScaleOnArgs(TypedDict):
    """One signal and its target."""

    signal: SignalWord
    """One of `requestsRunning`, `requestsWaiting`, `kvCache`, `tensorActive`, `gpuUtilisation`,
    `queueLength`. What is measured."""
    target: NotRequired[float]
    """Intended value of one replica; above it replicas are added. Default: 0.8 for kvCache and
    tensorActive, 0.7 for gpuUtilisation; other signals have none."""
    thresholds: NotRequired[ScaleThresholdsArgs]
    """Two thresholds instead of a target, for gpuUtilisation and tensorActive, with KEDA."""
    query: NotRequired[str]
    """PromQL that returns one number, instead of the built-in query. Needed for queueLength."""
    activation: NotRequired[float]
    """KEDA: value above which the first replica starts. Default 0."""


class LoadTimeArgs(TypedDict):
    """Time until a new replica answers."""

    node_seconds: NotRequired[int]
    """A new node with its driver, 0 to 7200 s. Default 180."""
    model_seconds: NotRequired[int]
    """Image and weights, 0 to 7200 s. Default 120."""


class FallbackArgs(TypedDict):
    """Number of replicas while the signal cannot be read."""

    failures: NotRequired[int]
    """Number of failed readings before, 1 to 100. Default 3."""
    replicas: int
    """Replicas meanwhile."""


class TriggerSecretArgs(TypedDict):
    """A parameter of KEDA's authentication from a Secret; never its content."""

    parameter: TriggerSecretParameterWord
    """One of `bearerToken`, `username`, `password`, `ca`, `cert`, `key`, `customAuthHeader`,
    `customAuthValue`. Parameter of KEDA's Prometheus scaler."""
    secret: str
    """Name of the Secret, in the workload's namespace."""
    key: str
    """Key in it."""


class KedaScalingArgs(TypedDict):
    """The signals, and the minimum and maximum, of scaling by KEDA."""

    target: ScalingTargetArgs
    """What is scaled."""
    workload: NotRequired[WorkloadKindWord]
    """One of `llmServing`, `serving`, `batch`. Default llmServing."""
    min: int
    """Minimum number of replicas. 0 only with a signal that exists without pods."""
    max: int
    """Maximum number of replicas. There is no default: an unbounded service has an unbounded
    cost."""
    on: list[ScaleOnArgs]
    """1 to 8 signals; the one that requires most replicas decides."""
    load: NotRequired[LoadTimeArgs]
    """Start time of a replica: sets how fast one is added and removed."""
    mig: NotRequired[bool]
    """Whether the pods are on MIG slices, which have no GPU utilisation. Default false."""
    server: str
    """Address of Prometheus: `http://prometheus.monitoring.svc:9090`."""
    polling_seconds: NotRequired[int]
    """Polling interval of the signal while there are no replicas, 5 to 3600 s. Default 30."""
    cooldown_seconds: NotRequired[int]
    """Time without activity before the last replica is removed, 0 to 86400 s. Default: twice the
    start time, at least 300."""
    fallback: NotRequired[FallbackArgs]
    """Default: with `min: 0` one replica, else `min`."""
    authentication: NotRequired[str]
    """Name of an existing TriggerAuthentication in the namespace. Default: none."""
    secrets: NotRequired[list[TriggerSecretArgs]]
    """Creates a TriggerAuthentication from these, instead of naming one. Default: none."""
    auth_modes: NotRequired[KedaScalingAuthModesWord]
    """One of `basic`, `bearer`, `tls`, `custom`. Authentication modes of KEDA; required with
    secrets. Default: none."""
