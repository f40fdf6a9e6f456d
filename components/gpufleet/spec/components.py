"""Inputs of components that declare pools as a fleet does, or are wired to other resources.

`gpufleet.arguments` restates them as TypedDicts.
"""

from typing import Any

from pydantic import Field

from gpufleet.spec.addons import Addons
from gpufleet.spec.base import OneInput, Platform, SpecModel
from gpufleet.spec.chart_components import ChartWithValues, OperandToleration
from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION
from gpufleet.spec.images import Images
from gpufleet.spec.monitoring import Monitoring
from gpufleet.spec.network_operator import NetworkOperatorSettings
from gpufleet.spec.nim import Nim
from gpufleet.spec.pool import GpuPool
from gpufleet.spec.queues import Queues
from gpufleet.spec.scaling import KedaScaling


class DeclaredFleetPart(SpecModel):
    """Facts of one cluster that add-ons receive."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: Platform
    """Where the cluster is."""
    pools: tuple[GpuPool, ...]
    """Declarations of every GPU pool of the cluster."""
    addons: Addons = Field(default_factory=Addons)
    """Overrides of what the pools imply. Default: none."""
    region: str | None = None
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: str = DEFAULT_KUBERNETES_VERSION
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""


class DeclaredGpuAddons(DeclaredFleetPart):
    """Inputs of `GpuAddons`."""

    pools: tuple[GpuPool, ...]
    """Declarations of every GPU pool of the cluster, also of pools in other stacks: the add-ons
    know only the layouts and ways of sharing of these."""


class DeclaredDraDriver(DeclaredFleetPart):
    """Inputs of `DraDriver`."""

    pools: tuple[GpuPool, ...]
    """Declarations of every GPU pool of the cluster: those with `sharing: {dra: ...}` are served,
    the others are validated next to them."""
    addons: Addons = Field(default_factory=Addons)
    """Overrides: `draDriver` and `charts` are read here. Default: none."""


class DeclaredGpuAcceptance(DeclaredFleetPart):
    """Inputs of `GpuAcceptance`."""

    pools: tuple[GpuPool, ...]
    """Declarations of the pools; those with `acceptance` are tested."""
    addons: Addons = Field(default_factory=Addons)
    """Overrides: `gpuOperator` and `images` are read here. Default: none."""


class DeclaredKueueQueues(DeclaredFleetPart):
    """Inputs of `KueueQueues`."""

    pools: tuple[GpuPool, ...]
    """Declarations of every GPU pool of the cluster, also of pools in other stacks: quotas count
    all of them."""
    queues: Queues
    """Teams and how they share."""
    addons: Addons = Field(default_factory=Addons)
    """Overrides: `kueue` and `charts` are read here. Default: none."""


class DeclaredGpuMonitoring(DeclaredFleetPart):
    """Inputs of `GpuMonitoring`."""

    pools: tuple[GpuPool, ...]
    """Declarations of every GPU pool of the cluster: prices, slices and quotas follow from them."""
    monitoring: Monitoring
    """Backend, thresholds, dashboards."""
    queues: Queues | None = None
    """Teams, as `KueueQueues` takes them. Default: none; then nothing is reported of queues."""
    addons: Addons = Field(default_factory=Addons)
    """Overrides: `gpuOperator` and `charts` are read here. Default: none."""


class DeclaredNetworkOperator(ChartWithValues):
    """Inputs of `NetworkOperator`."""

    settings: NetworkOperatorSettings = Field(default_factory=NetworkOperatorSettings)
    """Policy, resources and networks. Default: none, the chart alone."""
    namespace: OneInput = None
    """Namespace, which must exist and admit privileged pods. Default: one is made,
    `nvidia-network-operator`."""
    images: Images = Field(default_factory=Images)
    """Where images come from. Default: the vendors' own."""
    node_feature_discovery: bool = True
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints that its operands tolerate with any value, next to `nvidia.com/gpu`. Default: none."""


class DeclaredNimService(SpecModel):
    """Inputs of `NimService`."""

    nim: Nim
    """Model, place and growth."""


class DeclaredGpuScaledObject(SpecModel):
    """Inputs of `GpuScaledObject`."""

    scaling: KedaScaling
    """What is scaled, between which sizes, by which signal."""
    job: dict[str, Any] | None = None
    """Specification of a Job: makes a ScaledJob, one Job for each piece of work, instead of scaling
    a workload. Default: none."""
