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
    """One of `minimal`, `surge`. Default minimal, because spare GPUs are rarely to be had."""
    max_unavailable: NotRequired[int]
    """Nodes replaced at the same time, 1 to 100. Default 1."""


class EksOptionsArgs(TypedDict):
    """What only EKS needs to know."""

    release_version: NotRequired[str]
    """Pinned AMI release: `1.36.0-20261101` (Amazon Linux), `1.52.0-7a6b3c1d` (Bottlerocket).
    Karpenter's image alias is derived from it. Default `latest`: the newest when nodes are made,
    which Karpenter pools of the environment `prod` refuse to be deployed with."""
    ami_id: NotRequired[str]
    """An image of your own, built from the kind of `image`. Default: the AMI that EKS
    publishes."""
    placement_group: NotRequired[bool]
    """Cluster placement group. Default: with `fabric: efa`, except for Capacity Blocks and
    reservations."""
    update: NotRequired[EksUpdateArgs]
    """How a managed node group is updated. Default: one node at a time, without spare GPUs."""
    node_repair: NotRequired[bool]
    """Replace or reboot nodes that EKS finds broken; needs the node monitoring agent, which is
    installed with it. Default true."""
    metadata_hop_limit: NotRequired[int]
    """Network hops to the instance metadata service, 1 to 64. Default 1: pods do not reach it and
    use pod identities instead; 2 lets them."""
    local_storage: NotRequired[LocalStorageWord]
    """One of `raid0`, `none`. Default raid0, where the instance type has NVMe disks."""
    kms_key_arn: NotRequired[str]
    """Key that encrypts the volumes of nodes. Default: the account's own for EBS."""
    fast_image_pull: NotRequired[bool]
    """Pull and unpack layers of images in parallel, by the SOCI snapshotter: only on Amazon Linux
    2023 (nodeadm's gate FastImagePull). Default false."""
    imported: NotRequired[EksOptionsImportedWord]
    """One of `adopt`, `manage`. With `importId`: `adopt` (default) takes the group over and
    changes nothing; `manage`, in a later update, makes labels, taints, sizes, tags, repair and
    update settings the pool's. What can only be set at creation stays as it is in both."""
    node_group: NotRequired[dict[str, Any]]
    """Raw arguments of the node group, as `aws:eks/nodeGroup` spells them, merged last."""
    launch_template: NotRequired[dict[str, Any]]
    """Raw arguments of the launch template, as `aws:ec2/launchTemplate` spells them, merged last.
    Lists are replaced."""


class EksSystemNodesArgs(TypedDict):
    """The managed node group on which controllers run."""

    instance_types: NotRequired[list[str]]
    """Machine types, best first. Default m6i.large."""
    nodes: NotRequired[int]
    """How many, at least 1. Default 2."""
    disk_gib: NotRequired[int]
    """Root volume, encrypted gp3. Default 50."""
    ami_type: NotRequired[str]
    """Image as EKS names it; Arm machines need `AL2023_ARM_64_STANDARD`. Default
    `AL2023_x86_64_STANDARD`."""


class EksClusterArgs(TypedDict):
    """Inputs of `EksCluster`."""

    cluster_name: str
    """Name of the cluster, unique in account and region."""
    region: str
    """Region, `us-east-1`; the one of the AWS provider."""
    zones: list[str]
    """Availability zones, two to six, `["us-east-1a", "us-east-1b"]`. Those that sell the GPU
    machines should be among them."""
    kubernetes_version: NotRequired[str]
    """Minor version, `"1.36"`. Default: 1.36."""
    cidr: NotRequired[str]
    """IPv4 range of the network, /16 to /20. Default 10.0.0.0/16."""
    nat: NotRequired[DeclaredEksClusterNatWord]
    """One of `single`, `perZone`. `single` is one NAT gateway for all zones: machines lose the
    internet with its zone; `perZone` is one for each. Default `single`."""
    public_access_cidrs: NotRequired[list[str]]
    """Addresses that may reach the API server from the internet. Default: none, it is reached
    from the network alone, and a program that installs charts must run there."""
    system_nodes: NotRequired[EksSystemNodesArgs]
    """The nodes of controllers. Default: two m6i.large."""
    log_types: NotRequired[list[str]]
    """Logs of the control plane that go to CloudWatch: `api`, `audit`, `authenticator`,
    `controllerManager`, `scheduler`. Default: none."""
    spot_role: NotRequired[bool]
    """Make the service-linked role of EC2 Spot, which an account has once and Karpenter needs for
    spot machines. AWS refuses a second one. Default false."""
    deletion_protection: NotRequired[bool]
    """EKS refuses to delete the cluster until this is false again. Default false."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that takes them. Default: none."""
