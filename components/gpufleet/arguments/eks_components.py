"""Inputs of components: what restates `gpufleet.spec.platforms.eks_components`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments.addons import ChartsArgs, ClusterAutoscalerOptionsArgs
from gpufleet.arguments.pool import GpuPoolArgs


class NodeMonitoringAgentArgs(TypedDict):
    """Inputs of `NodeMonitoringAgent`."""

    cluster_name: pulumi.Input[str]
    """Cluster whose nodes it watches."""
    version: NotRequired[str]
    """Version of the add-on, `v1.4.0-eksbuild.2`. Default: the one EKS chooses for the
    cluster."""
    tags: NotRequired[dict[str, str]]
    """Tags of the add-on. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw configuration of the add-on. Default: none."""


class ClusterAutoscalerArgs(TypedDict):
    """Inputs of `ClusterAutoscaler`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    platform: NotRequired[str]
    """Only `eks`; GKE runs its own autoscaler. Default `eks`."""
    cluster_name: pulumi.Input[str]
    """Cluster it runs in and whose node groups it scales."""
    region: str
    """Region of the cluster, `us-east-1`."""
    pools: NotRequired[list[GpuPoolArgs]]
    """Declarations of the pools it scales, for the order of preference. Default: none."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`: the program is matched to it. Default: 1.36."""
    settings: NotRequired[ClusterAutoscalerOptionsArgs]
    """Expander, thresholds, ProvisioningRequests, raw values. Default: the program's own."""
    name_prefix: NotRequired[str]
    """First part of names in AWS. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that takes them. Default: none."""


class KarpenterArgs(TypedDict):
    """Inputs of `Karpenter`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    cluster_name: pulumi.Input[str]
    """Cluster it runs in and makes nodes for."""
    region: str
    """Region of the cluster, `us-east-1`."""
    node_role_arn: pulumi.Input[str]
    """IAM role of the nodes it makes, which it must be allowed to hand to them."""
    upgrade_definitions: NotRequired[bool]
    """Make Karpenter's definitions a release of their own, upgraded with the chart and kept when
    it is removed. Where the chart installed them before, Helm must be given them first
    (docs/karpenter.md). Default false."""
    node_overlay: NotRequired[bool]
    """Feature gate NodeOverlay: pools that share, cut or have parts of GPUs need it. Default
    false."""
    node_repair: NotRequired[bool]
    """Feature gate NodeRepair: nodes whose GPUs are reported broken are replaced. Default
    false."""
    access_entry: NotRequired[bool]
    """Make an access entry, by which machines with the node role join the cluster. EKS makes one
    by itself for a role of a managed node group, and refuses a second one. Default false."""
    name_prefix: NotRequired[str]
    """First part of names in AWS. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that takes them. Default: none."""
