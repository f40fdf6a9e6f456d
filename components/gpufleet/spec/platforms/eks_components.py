"""Inputs of the components that exist once per EKS cluster."""

from typing import Annotated, Any

from pydantic import Field

from gpufleet.spec.addons import Charts, ClusterAutoscaler
from gpufleet.spec.base import OneInput, Release, SpecModel, Wired
from gpufleet.spec.chart_components import ChartWithValues
from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION


class DeclaredNodeMonitoringAgent(SpecModel):
    """Inputs of `NodeMonitoringAgent`."""

    cluster_name: OneInput
    """Cluster whose nodes it watches."""
    version: Release | None = None
    """Version of the add-on, `v1.4.0-eksbuild.2`. Default: the one EKS chooses for the cluster."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Tags of the add-on. Default: none."""
    values: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw configuration of the add-on. Default: none."""


class DeclaredClusterAutoscaler(SpecModel):
    """Inputs of `ClusterAutoscaler`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    charts: Charts = Field(default_factory=Charts)
    """Where the chart comes from. Default: the vendor's repository."""
    platform: str = "eks"
    """Only `eks`; GKE runs its own autoscaler. Default `eks`."""
    cluster_name: OneInput
    """Cluster it runs in and whose node groups it scales."""
    region: str
    """Region of the cluster, `us-east-1`."""
    pools: Annotated[tuple[Any, ...], Wired("list[GpuPoolArgs]")] = ()
    """Declarations of the pools it scales, for the order of preference. Default: none."""
    kubernetes_version: str = DEFAULT_KUBERNETES_VERSION
    """Minor version of the cluster, `"1.36"`: the program is matched to it. Default: 1.36."""
    settings: ClusterAutoscaler = Field(default_factory=ClusterAutoscaler)
    """Expander, thresholds, ProvisioningRequests, raw values. Default: the program's own."""
    name_prefix: str = "gpufleet"
    """First part of names in AWS. Default `gpufleet`."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Tags of everything that takes them. Default: none."""


class DeclaredKarpenter(ChartWithValues):
    """Inputs of `Karpenter`."""

    cluster_name: OneInput
    """Cluster it runs in and makes nodes for."""
    region: str
    """Region of the cluster, `us-east-1`."""
    node_role_arn: OneInput
    """IAM role of the nodes it makes, which it must be allowed to hand to them."""
    upgrade_definitions: bool = False
    """Make Karpenter's definitions a release of their own, upgraded with the chart and kept when it
    is removed. Where the chart installed them before, Helm must be given them first
    (docs/karpenter.md). Default false."""
    node_overlay: bool = False
    """Feature gate NodeOverlay: pools that share, cut or have parts of GPUs need it. Default
    false."""
    node_repair: bool = False
    """Feature gate NodeRepair: nodes whose GPUs are reported broken are replaced. Default false."""
    access_entry: bool = False
    """Make an access entry, by which machines with the node role join the cluster. EKS makes one by
    itself for a role of a managed node group, and refuses a second one. Default false."""
    name_prefix: str = "gpufleet"
    """First part of names in AWS. Default `gpufleet`."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Tags of everything that takes them. Default: none."""
