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
    """Anything with a scale: Deployment (default), StatefulSet, NIMService, ..."""
    api_version: NotRequired[str]
    """Default `apps/v1`."""


class ScaleThresholdsArgs(TypedDict):
    """Replicas are added while the average of a signal is above one threshold, and removed after
    it was below the other for a time; between the two their number stays. The defaults are those
    of Packt, *Kubernetes for Generative AI Solutions*, chapter 10, Scaling and optimization
    considerations (read 2026-11-29)."""

    above: NotRequired[float]
    """Part of 1 above which replicas are added, more than 0, at most 1. Default 0.8."""
    below: NotRequired[float]
    """Part of 1 below which one is removed, more than 0, less than `above`. Default 0.2."""
    minutes: NotRequired[int]
    """How long it must be below, 1 to 60 minutes. Default 10."""


class ScaleOnArgs(TypedDict):
    """One signal and its target."""

    signal: SignalWord
    """One of `requestsRunning`, `requestsWaiting`, `kvCache`, `tensorActive`, `gpuUtilisation`,
    `queueLength`. What is measured."""
    target: NotRequired[float]
    """Value of one replica that is right; more replicas come above it. Default: 0.8 for kvCache
    and tensorActive, 0.7 for gpuUtilisation; the others have none."""
    thresholds: NotRequired[ScaleThresholdsArgs]
    """Two thresholds instead of a target, for gpuUtilisation and tensorActive, with KEDA."""
    query: NotRequired[str]
    """PromQL that gives one number, instead of our own. Needed for queueLength."""
    activation: NotRequired[float]
    """KEDA: value above which the first replica starts. Default 0."""


class LoadTimeArgs(TypedDict):
    """How long a replica takes until it answers."""

    node_seconds: NotRequired[int]
    """A new node with its driver, 0 to 7200 s. Default 180."""
    model_seconds: NotRequired[int]
    """Image and weights, 0 to 7200 s. Default 120."""


class FallbackArgs(TypedDict):
    """What holds while the signal cannot be read."""

    failures: NotRequired[int]
    """Failed readings before, 1 to 100. Default 3."""
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
    """By which signal, between which sizes, KEDA scales."""

    target: ScalingTargetArgs
    """What is scaled."""
    workload: NotRequired[WorkloadKindWord]
    """One of `llmServing`, `serving`, `batch`. Default llmServing."""
    min: int
    """Fewest replicas. 0 only with a signal that is there without pods."""
    max: int
    """Maximum number of replicas. There is no default: an unbounded service has an unbounded
    bill."""
    on: list[ScaleOnArgs]
    """1 to 8 signals; the one that asks for most decides."""
    load: NotRequired[LoadTimeArgs]
    """How long a replica takes to start: sets how fast one may add and remove."""
    mig: NotRequired[bool]
    """Whether the pods are on MIG slices, which have no GPU utilisation. Default false."""
    server: str
    """Address of Prometheus: `http://prometheus.monitoring.svc:9090`."""
    polling_seconds: NotRequired[int]
    """How often the signal is read while there is no replica, 5 to 3600 s. Default 30."""
    cooldown_seconds: NotRequired[int]
    """Quiet time before the last replica goes, 0 to 86400 s. Default: twice what a start takes,
    at least 300."""
    fallback: NotRequired[FallbackArgs]
    """Default: with `min: 0` one replica, else `min`."""
    authentication: NotRequired[str]
    """Name of a TriggerAuthentication that exists in the namespace. Default: none."""
    secrets: NotRequired[list[TriggerSecretArgs]]
    """Makes a TriggerAuthentication from these, instead of naming one. Default: none."""
    auth_modes: NotRequired[KedaScalingAuthModesWord]
    """One of `basic`, `bearer`, `tls`, `custom`. How KEDA authenticates; needed with secrets.
    Default: not."""
