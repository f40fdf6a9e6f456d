"""Inputs of components: what restates `gpufleet.spec.platforms.eks`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.words import (
    DeclaredEksClusterNatWord,
    EksOptionsImportedWord,
    LocalStorageWord,
    UpdateStrategyWord,
)


class EksUpdateArgs(TypedDict):
    """How a managed node group is updated."""

    strategy: NotRequired[UpdateStrategyWord]
    """One of `minimal`, `surge`. Default minimal, because spare GPUs are rarely available."""
    max_unavailable: NotRequired[int]
    """Nodes replaced at the same time, 1 to 100. Default 1."""


class EksOptionsArgs(TypedDict):
    """Settings for EKS only."""

    release_version: NotRequired[str]
    """Pinned AMI release: `1.36.0-20261101` (Amazon Linux), `1.52.0-7a6b3c1d` (Bottlerocket).
    Karpenter's image alias is derived from it. Default `latest`: the newest when a node starts,
    which Karpenter pools of the environment `prod` refuse."""
    ami_id: NotRequired[str]
    """Your own image, built from the kind of `image`. Default: the AMI that EKS publishes."""
    placement_group: NotRequired[bool]
    """Cluster placement group. Default: with `fabric: efa`, except for Capacity Blocks and
    reservations."""
    update: NotRequired[EksUpdateArgs]
    """How a managed node group is updated. Default: one node at a time, without spare GPUs."""
    node_repair: NotRequired[bool]
    """Replace or reboot nodes that EKS reports as broken; needs the node monitoring agent, which
    is installed with it. Default true."""
    metadata_hop_limit: NotRequired[int]
    """Network hops to the instance metadata service, 1 to 64. Default 1: pods do not reach it and
    use pod identities; 2 lets them reach it."""
    local_storage: NotRequired[LocalStorageWord]
    """One of `raid0`, `none`. Default raid0, if the instance type has NVMe disks."""
    kms_key_arn: NotRequired[str]
    """Key that encrypts the volumes of nodes. Default: the account's own for EBS."""
    fast_image_pull: NotRequired[bool]
    """Pull and unpack layers of images in parallel, by the SOCI snapshotter: only on Amazon Linux
    2023 (nodeadm's gate FastImagePull). Default false."""
    imported: NotRequired[EksOptionsImportedWord]
    """One of `adopt`, `manage`. With `importId`: `adopt` (default) imports the group and changes
    nothing; `manage`, in a later update, applies labels, taints, sizes, tags, repair and update
    settings of the pool. Arguments that can only be set at creation stay unchanged in both."""
    node_group: NotRequired[dict[str, Any]]
    """Raw arguments of the node group in the spelling of `aws:eks/nodeGroup`, merged last."""
    launch_template: NotRequired[dict[str, Any]]
    """Raw arguments of the launch template in the spelling of `aws:ec2/launchTemplate`, merged
    last. Lists are replaced."""


class EksSystemNodesArgs(TypedDict):
    """The managed node group on which controllers run."""

    instance_types: NotRequired[list[str]]
    """Machine types, best first. Default m6i.large."""
    nodes: NotRequired[int]
    """Number of nodes, at least 1. Default 2."""
    disk_gib: NotRequired[int]
    """Root volume, encrypted gp3. Default 50."""
    ami_type: NotRequired[str]
    """Image type of EKS; Arm machines need `AL2023_ARM_64_STANDARD`. Default
    `AL2023_x86_64_STANDARD`."""


class EksClusterArgs(TypedDict):
    """Inputs of `EksCluster`."""

    cluster_name: str
    """Name of the cluster, unique in account and region."""
    region: str
    """Region, `us-east-1`; that of the AWS provider."""
    zones: list[str]
    """Availability zones, two to six, `["us-east-1a", "us-east-1b"]`. Include the zones that sell
    the GPU machines."""
    kubernetes_version: NotRequired[str]
    """Minor version, `"1.36"`. Default: 1.36."""
    cidr: NotRequired[str]
    """IPv4 range of the network, /16 to /20. Default 10.0.0.0/16."""
    nat: NotRequired[DeclaredEksClusterNatWord]
    """One of `single`, `perZone`. `single` is one NAT gateway for all zones: if its zone fails,
    machines lose Internet access; `perZone` is one for each zone. Default `single`."""
    public_access_cidrs: NotRequired[list[str]]
    """Addresses that may reach the API server from the Internet. Default: none, only the network
    reaches it, and a program that installs charts must run there."""
    system_nodes: NotRequired[EksSystemNodesArgs]
    """The nodes of controllers. Default: two m6i.large."""
    log_types: NotRequired[list[str]]
    """Logs of the control plane in CloudWatch: `api`, `audit`, `authenticator`,
    `controllerManager`, `scheduler`. Default: none."""
    spot_role: NotRequired[bool]
    """Create the service-linked role of EC2 Spot, which an account has once and Karpenter needs
    for spot machines. AWS refuses a second one. Default false."""
    deletion_protection: NotRequired[bool]
    """EKS refuses to delete the cluster until this is false again. Default false."""
    tags: NotRequired[dict[str, str]]
    """Tags of all resources that support them. Default: none."""
