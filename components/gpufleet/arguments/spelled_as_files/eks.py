"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.platforms.eks`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.words import EksOptionsImportedWord, LocalStorageWord, UpdateStrategyWord


class EksUpdateDict(TypedDict):
    """How a managed node group is updated."""

    strategy: NotRequired[UpdateStrategyWord]
    """One of `minimal`, `surge`. Default minimal, because spare GPUs are rarely available."""
    maxUnavailable: NotRequired[int]
    """Nodes replaced at the same time, 1 to 100. Default 1."""


class EksOptionsDict(TypedDict):
    """Settings for EKS only."""

    releaseVersion: NotRequired[str]
    """Pinned AMI release: `1.36.0-20261101` (Amazon Linux), `1.52.0-7a6b3c1d` (Bottlerocket).
    Karpenter's image alias is derived from it. Default `latest`: the newest when a node starts,
    which Karpenter pools of the environment `prod` refuse."""
    amiId: NotRequired[str]
    """Your own image, built from the kind of `image`. Default: the AMI that EKS publishes."""
    placementGroup: NotRequired[bool]
    """Cluster placement group. Default: with `fabric: efa`, except for Capacity Blocks and
    reservations."""
    update: NotRequired[EksUpdateDict]
    """How a managed node group is updated. Default: one node at a time, without spare GPUs."""
    nodeRepair: NotRequired[bool]
    """Replace or reboot nodes that EKS reports as broken; needs the node monitoring agent, which
    is installed with it. Default true."""
    metadataHopLimit: NotRequired[int]
    """Network hops to the instance metadata service, 1 to 64. Default 1: pods do not reach it and
    use pod identities; 2 lets them reach it."""
    localStorage: NotRequired[LocalStorageWord]
    """One of `raid0`, `none`. Default raid0, if the instance type has NVMe disks."""
    kmsKeyArn: NotRequired[str]
    """Key that encrypts the volumes of nodes. Default: the account's own for EBS."""
    fastImagePull: NotRequired[bool]
    """Pull and unpack layers of images in parallel, by the SOCI snapshotter: only on Amazon Linux
    2023 (nodeadm's gate FastImagePull). Default false."""
    imported: NotRequired[EksOptionsImportedWord]
    """One of `adopt`, `manage`. With `importId`: `adopt` (default) imports the group and changes
    nothing; `manage`, in a later update, applies labels, taints, sizes, tags, repair and update
    settings of the pool. Arguments that can only be set at creation stay unchanged in both."""
    nodeGroup: NotRequired[Mapping[str, Any]]
    """Raw arguments of the node group in the spelling of `aws:eks/nodeGroup`, merged last."""
    launchTemplate: NotRequired[Mapping[str, Any]]
    """Raw arguments of the launch template in the spelling of `aws:ec2/launchTemplate`, merged
    last. Lists are replaced."""
