"""Inputs of components: what restates `gpufleet.spec.platforms.openshift_aws`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.openshift import MachineConfigurationArgs, MachineHealthArgs
from gpufleet.arguments.words import (
    MachineRolloutWord,
    OpenShiftAwsOptionsMetadataTokensWord,
    OpenShiftAwsOptionsTenancyWord,
    OpenShiftAwsOptionsVolumeTypeWord,
)


class OpenShiftAwsOptionsArgs(TypedDict):
    """Settings for OpenShift on AWS only."""

    rollout: NotRequired[MachineRolloutWord]
    """One of `recreate`, `surge`. How machines are replaced when labels, taints or shape change:
    the machine API never changes existing machines. Default recreate."""
    health: NotRequired[MachineHealthArgs]
    """When machines are replaced. Default: not ready for 5 minutes."""
    machine_config: NotRequired[MachineConfigurationArgs]
    """A separate MachineConfigPool with the pool's name. Default: none, the nodes belong to the
    pool `worker`."""
    ami_id: NotRequired[str]
    """Image of Red Hat CoreOS in the cluster's region. Default: the connection's."""
    volume_type: NotRequired[OpenShiftAwsOptionsVolumeTypeWord]
    """One of `gp2`, `gp3`, `io1`. Type of the root volume. Default gp3."""
    iops: NotRequired[int]
    """Operations per second of the root volume, 100 to 64000; needed with io1, not with gp2.
    Default: AWS's."""
    throughput_mib: NotRequired[int]
    """Throughput of a gp3 root volume in MiB/s, 125 to 2000. Default: 125."""
    kms_key_arn: NotRequired[str]
    """Key that encrypts the root volume. Default: the account's own for EBS."""
    placement_group: NotRequired[str]
    """Name of an existing placement group. Default: none."""
    placement_group_partition: NotRequired[int]
    """Partition of a placement group of the strategy `partition`, 1 to 7. Default: none."""
    tenancy: NotRequired[OpenShiftAwsOptionsTenancyWord]
    """One of `default`, `dedicated`. `dedicated`: hardware without other accounts. Default
    default."""
    metadata_tokens: NotRequired[OpenShiftAwsOptionsMetadataTokensWord]
    """One of `required`, `optional`. Whether the instance metadata service requires a session
    token. Default required."""
