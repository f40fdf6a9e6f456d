"""Inputs of components that are values of other resources.

Generated from spec/wired_inputs.yaml by tests/unit/components/write_arguments.py: edit that file.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments.addons import AddonsArgs, ClusterAutoscalerOptionsArgs
from gpufleet.arguments.connections import (
    GkeNetworkArgs,
    OpenShiftAwsConnectionArgs,
    OpenShiftConnectionArgs,
    OpenShiftGcpConnectionArgs,
    VsphereConnectionArgs,
)
from gpufleet.arguments.pool import GpuPoolArgs


class EksPoolArgs(TypedDict):
    """Common inputs of all components of EKS pools."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    region: str
    """Region of the cluster, `us-east-1`."""
    cluster_name: pulumi.Input[str]
    """Cluster that the nodes join. Use the output of the resource that creates the cluster: the
    nodes then wait for it."""
    node_role_arn: pulumi.Input[str]
    """IAM role of the nodes."""
    subnet_ids_by_zone: dict[str, pulumi.Input[str]]
    """Zone -> private subnet. The zones must be known before deployment, the ids may be
    outputs."""
    vpc_id: NotRequired[pulumi.Input[str]]
    """Network of the cluster; needed with `fabric: efa`, for the security group."""
    cluster_security_group_id: NotRequired[pulumi.Input[str]]
    """Security group that EKS created for the cluster; needed with `fabric: efa` and with
    Karpenter, where EKS does not add it."""
    security_group_ids: NotRequired[list[pulumi.Input[str]]]
    """Additional security groups of the nodes. Default: none."""
    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """Address of the API server; needed with a custom image."""
    cluster_certificate_authority: NotRequired[pulumi.Input[str]]
    """Certificate authority of the API server, Base64; needed with a custom image."""
    cluster_service_cidr: NotRequired[pulumi.Input[str]]
    """Address range of services; needed with a custom image."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""
    environment: NotRequired[str]
    """`dev`, `staging`, `prod`: decides which versions must be pinned. Default dev."""
    name_prefix: NotRequired[str]
    """Prefix of names in AWS. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Tags of all resources that support them. Default: none."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    select another configuration are refused. Default: not compared, they are in this program."""


class GkeGpuNodePoolArgs(TypedDict):
    """Inputs of `GkeGpuNodePool`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    region: str
    """Region of the cluster, `us-central1`."""
    cluster_name: pulumi.Input[str]
    """Cluster that the nodes join. Use the output of the resource that creates the cluster: the
    nodes then wait for it."""
    location: NotRequired[pulumi.Input[str]]
    """Location of the control plane: the region, or a zone for a zonal cluster. Default: the
    region."""
    project: NotRequired[pulumi.Input[str]]
    """Google Cloud project of the cluster. Default: the provider's."""
    service_account: NotRequired[pulumi.Input[str]]
    """E-mail of the nodes' service account. Default: the project's default one, which has more
    rights than nodes need."""
    network_tags: NotRequired[list[pulumi.Input[str]]]
    """Network tags of the nodes, for firewall rules. Default: none."""
    gpu_networks: NotRequired[dict[str, GkeNetworkArgs]]
    """Networks of GPU interfaces, by the name pods use: `vpc1` to `vpc4` (GPUDirect-TCPX) or
    `vpc8` (TCPXO), `gvnic-1` and `rdma-0` to `rdma-7` (RDMA). The names must be known before
    deployment. Default: none."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""
    name_prefix: NotRequired[str]
    """Prefix of names in Google Cloud. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Resource labels of the nodes. Default: none."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    select another configuration are refused. Default: not compared, they are in this program."""


class VsphereGpuNodeGroupArgs(TypedDict):
    """Inputs of `VsphereGpuNodeGroup`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    connection: VsphereConnectionArgs
    """The vCenter, the location in its inventory, and the connection to the cluster."""
    name_prefix: NotRequired[str]
    """Prefix of the machines' names. Default: `gpu`."""
    addons: NotRequired[dict[str, Any]]
    """`addons` of a FleetSpec, as in the cluster: only validated. A vGPU pool must name the guest
    driver of its nodes. Default: those of a fleet."""


class OpenShiftGpuMachineSetArgs(TypedDict):
    """Inputs of `OpenShiftGpuMachineSet`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    connection: NotRequired[OpenShiftConnectionArgs]
    """vSphere: the cluster's location on its vCenter. Exactly one location is needed."""
    aws: NotRequired[OpenShiftAwsConnectionArgs]
    """AWS: the cluster's location."""
    gcp: NotRequired[OpenShiftGcpConnectionArgs]
    """Google Cloud: the cluster's location."""
    region: NotRequired[str]
    """Region of the cluster, `us-east-1`; needed on a cloud."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.35"` for OpenShift 4.22. Default: 1.36."""
    name_prefix: NotRequired[str]
    """Prefix of the objects' names. Default `gpu`."""
    addons: NotRequired[AddonsArgs]
    """The cluster's add-ons: only validated. A vGPU pool must name the guest driver of its nodes.
    Default: those of a fleet."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    select another configuration are refused. Default: not compared, they are in this program."""


class OpenShiftClusterAutoscalerArgs(TypedDict):
    """Inputs of `OpenShiftClusterAutoscaler`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster: its limits cover all pools together."""
    settings: NotRequired[ClusterAutoscalerOptionsArgs]
    """How it selects a pool. Default: the pool with the least idle capacity after scale-up."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.35"` for OpenShift 4.22. Default: 1.36."""
    platform: NotRequired[str]
    """`openshift`, `openshiftAws` or `openshiftGcp`. Default `openshift`, which is on vSphere."""
    region: NotRequired[str]
    """Region of the cluster, `us-east-1`; needed on a cloud."""


class SimulatedGpuNodePoolArgs(TypedDict):
    """Inputs of `SimulatedGpuNodePool`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    name_prefix: NotRequired[str]
    """Prefix of the nodes' names, at most 63 characters with pool and number. Default:
    `sandbox`."""
    region: NotRequired[str]
    """Region in the nodes' labels. Default: `sandbox`."""
    cluster_name: NotRequired[pulumi.Input[str]]
    """Cluster that the nodes join, written to their annotation `gpufleet.dev/cluster`. Use the
    output of the resource that creates it: the nodes then wait for it. Default: not written."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    select another configuration are refused. Default: not compared, they are in this program."""
