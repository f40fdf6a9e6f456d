"""Settings of a pool for EKS only."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from gpufleet.spec.base import KmsKeyArn, SpecModel
from gpufleet.spec.cluster import DEFAULT_KUBERNETES_VERSION, KubernetesVersion

CLUSTER_NAME = r"^[0-9A-Za-z][A-Za-z0-9_-]*$"

AmiId = Annotated[str, StringConstraints(pattern=r"^ami-[0-9a-f]{8,17}$")]
"""Id of a machine image: `ami-` and 8 to 17 hexadecimal digits."""

Raw = dict[str, Any]
"""Provider arguments in the provider's spelling, merged last."""


class LocalStorage(StrEnum):
    """Use of the NVMe disks of an instance type."""

    RAID0 = "raid0"
    """One volume that holds images, logs and `emptyDir`: the node's ephemeral storage."""
    NONE = "none"
    """Not used, for a driver that provides them as volumes."""


class UpdateStrategy(StrEnum):
    """Order in which a managed node group replaces its nodes."""

    MINIMAL = "minimal"
    """Old nodes are removed first: no spare GPU node is needed. The default."""
    SURGE = "surge"
    """New nodes start first: capacity never falls, and spare GPU capacity is needed."""


class EksUpdate(SpecModel):
    """How a managed node group is updated."""

    strategy: UpdateStrategy = UpdateStrategy.MINIMAL
    """Default minimal, because spare GPUs are rarely available."""
    max_unavailable: int = Field(default=1, ge=1, le=100)
    """Nodes replaced at the same time, 1 to 100. Default 1."""


class EksOptions(SpecModel):
    """Settings for EKS only."""

    release_version: str | None = Field(default=None, min_length=1, max_length=60)
    """Pinned AMI release: `1.36.0-20261101` (Amazon Linux), `1.52.0-7a6b3c1d` (Bottlerocket).
    Karpenter's image alias is derived from it. Default `latest`: the newest when a node starts,
    which Karpenter pools of the environment `prod` refuse."""
    ami_id: AmiId | None = None
    """Your own image, built from the kind of `image`. Default: the AMI that EKS publishes."""
    placement_group: bool | None = None
    """Cluster placement group. Default: with `fabric: efa`, except for Capacity Blocks and
    reservations."""
    update: EksUpdate = Field(default_factory=EksUpdate)
    """How a managed node group is updated. Default: one node at a time, without spare GPUs."""
    node_repair: bool = True
    """Replace or reboot nodes that EKS reports as broken; needs the node monitoring agent, which is
    installed with it. Default true."""
    metadata_hop_limit: int = Field(default=1, ge=1, le=64)
    """Network hops to the instance metadata service, 1 to 64. Default 1: pods do not reach it and
    use pod identities; 2 lets them reach it."""
    local_storage: LocalStorage = LocalStorage.RAID0
    """Default raid0, if the instance type has NVMe disks."""
    kms_key_arn: KmsKeyArn | None = None
    """Key that encrypts the volumes of nodes. Default: the account's own for EBS."""
    fast_image_pull: bool = False
    """Pull and unpack layers of images in parallel, by the SOCI snapshotter: only on Amazon Linux
    2023 (nodeadm's gate FastImagePull). Default false."""
    imported: Literal["adopt", "manage"] = "adopt"
    """With `importId`: `adopt` (default) imports the group and changes nothing; `manage`, in a
    later update, applies labels, taints, sizes, tags, repair and update settings of the pool.
    Arguments that can only be set at creation stay unchanged in both."""
    node_group: Raw = Field(default_factory=dict[str, Any])
    """Raw arguments of the node group in the spelling of `aws:eks/nodeGroup`, merged last."""
    launch_template: Raw = Field(default_factory=dict[str, Any])
    """Raw arguments of the launch template in the spelling of `aws:ec2/launchTemplate`, merged
    last. Lists are replaced."""


class EksSystemNodes(SpecModel):
    """The managed node group on which controllers run."""

    instance_types: tuple[str, ...] = Field(default=("m6i.large",), min_length=1)
    """Machine types, best first. Default m6i.large."""
    nodes: int = Field(default=2, ge=1)
    """Number of nodes, at least 1. Default 2."""
    disk_gib: int = Field(default=50, ge=20)
    """Root volume, encrypted gp3. Default 50."""
    ami_type: str = "AL2023_x86_64_STANDARD"
    """Image type of EKS; Arm machines need `AL2023_ARM_64_STANDARD`. Default
    `AL2023_x86_64_STANDARD`."""


class DeclaredEksCluster(SpecModel):
    """Inputs of `EksCluster`."""

    cluster_name: Annotated[str, StringConstraints(pattern=CLUSTER_NAME, max_length=100)]
    """Name of the cluster, unique in account and region."""
    region: str
    """Region, `us-east-1`; that of the AWS provider."""
    zones: tuple[str, ...]
    """Availability zones, two to six, `["us-east-1a", "us-east-1b"]`. Include the zones that sell
    the GPU machines."""
    kubernetes_version: KubernetesVersion = DEFAULT_KUBERNETES_VERSION
    """Minor version, `"1.36"`. Default: 1.36."""
    cidr: str = "10.0.0.0/16"
    """IPv4 range of the network, /16 to /20. Default 10.0.0.0/16."""
    nat: Literal["single", "perZone"] = "single"
    """`single` is one NAT gateway for all zones: if its zone fails, machines lose Internet access;
    `perZone` is one for each zone. Default `single`."""
    public_access_cidrs: tuple[str, ...] = ()
    """Addresses that may reach the API server from the Internet. Default: none, only the network
    reaches it, and a program that installs charts must run there."""
    system_nodes: EksSystemNodes = EksSystemNodes()
    """The nodes of controllers. Default: two m6i.large."""
    log_types: tuple[str, ...] = ()
    """Logs of the control plane in CloudWatch: `api`, `audit`, `authenticator`,
    `controllerManager`, `scheduler`. Default: none."""
    spot_role: bool = False
    """Create the service-linked role of EC2 Spot, which an account has once and Karpenter needs for
    spot machines. AWS refuses a second one. Default false."""
    deletion_protection: bool = False
    """EKS refuses to delete the cluster until this is false again. Default false."""
    tags: dict[str, str] = Field(default_factory=dict[str, str])
    """Tags of all resources that support them. Default: none."""
