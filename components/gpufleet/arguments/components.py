"""Inputs of components: what restates `gpufleet.spec.components`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments.addons import AddonsArgs, ChartsArgs
from gpufleet.arguments.chart_components import OperandTolerationArgs
from gpufleet.arguments.images import ImagesArgs
from gpufleet.arguments.monitoring import MonitoringArgs
from gpufleet.arguments.network_operator import NetworkOperatorSettingsArgs
from gpufleet.arguments.nim import NimArgs
from gpufleet.arguments.pool import GpuPoolArgs
from gpufleet.arguments.queues import QueuesArgs
from gpufleet.arguments.scaling import KedaScalingArgs
from gpufleet.arguments.words import PlatformWord


class GpuAddonsArgs(TypedDict):
    """Inputs of `GpuAddons`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. Where the cluster is."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster, also of pools in other stacks: the add-ons
    know only the layouts and ways of sharing of these."""
    addons: NotRequired[AddonsArgs]
    """Overrides of what the pools imply. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""


class DraDriverArgs(TypedDict):
    """Inputs of `DraDriver`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. Where the cluster is."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster: those with `sharing: {dra: ...}` are served,
    the others are validated next to them."""
    addons: NotRequired[AddonsArgs]
    """Overrides: `draDriver` and `charts` are read here. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""


class GpuAcceptanceArgs(TypedDict):
    """Inputs of `GpuAcceptance`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. Where the cluster is."""
    pools: list[GpuPoolArgs]
    """Declarations of the pools; those with `acceptance` are tested."""
    addons: NotRequired[AddonsArgs]
    """Overrides: `gpuOperator` and `images` are read here. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""


class KueueQueuesArgs(TypedDict):
    """Inputs of `KueueQueues`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. Where the cluster is."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster, also of pools in other stacks: quotas count
    all of them."""
    addons: NotRequired[AddonsArgs]
    """Overrides: `kueue` and `charts` are read here. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""
    queues: QueuesArgs
    """Teams and how they share."""


class GpuMonitoringArgs(TypedDict):
    """Inputs of `GpuMonitoring`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: PlatformWord
    """One of `eks`, `gke`, `vsphere`, `openshift`, `openshiftAws`, `openshiftGcp`, `existing`,
    `sandbox`. Where the cluster is."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster: prices, slices and quotas follow from
    them."""
    addons: NotRequired[AddonsArgs]
    """Overrides: `gpuOperator` and `charts` are read here. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""
    monitoring: MonitoringArgs
    """Backend, thresholds, dashboards."""
    queues: NotRequired[QueuesArgs]
    """Teams, as `KueueQueues` takes them. Default: none; then nothing is reported of queues."""


class NetworkOperatorArgs(TypedDict):
    """Inputs of `NetworkOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    settings: NotRequired[NetworkOperatorSettingsArgs]
    """Policy, resources and networks. Default: none, the chart alone."""
    namespace: NotRequired[pulumi.Input[str]]
    """Namespace, which must exist and admit privileged pods. Default: one is made,
    `nvidia-network-operator`."""
    images: NotRequired[ImagesArgs]
    """Where images come from. Default: the vendors' own."""
    node_feature_discovery: NotRequired[bool]
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints that its operands tolerate with any value, next to `nvidia.com/gpu`. Default:
    none."""


class NimServiceArgs(TypedDict):
    """Inputs of `NimService`."""

    nim: NimArgs
    """Model, place and growth."""


class GpuScaledObjectArgs(TypedDict):
    """Inputs of `GpuScaledObject`."""

    scaling: KedaScalingArgs
    """What is scaled, between which sizes, by which signal."""
    job: NotRequired[dict[str, Any]]
    """Specification of a Job: makes a ScaledJob, one Job for each piece of work, instead of
    scaling a workload. Default: none."""
