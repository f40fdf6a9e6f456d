"""Settings of a pool for OpenShift on AWS only.

Fields and limits: openshift/api bfa868a `machine/v1beta1/types_awsprovider.go`; types of root
volumes: Amazon EBS user guide, read 2026-11-23.
"""

from typing import Literal

from pydantic import Field

from gpufleet.spec.base import KmsKeyArn
from gpufleet.spec.platforms.eks import AmiId
from gpufleet.spec.platforms.openshift import OpenShiftMachineOptions


class OpenShiftAwsOptions(OpenShiftMachineOptions):
    """Settings for OpenShift on AWS only."""

    ami_id: AmiId | None = None
    """Image of Red Hat CoreOS in the cluster's region. Default: the connection's."""
    volume_type: Literal["gp2", "gp3", "io1"] = "gp3"
    """Type of the root volume. Default gp3."""
    iops: int | None = Field(default=None, ge=100, le=64_000)
    """Operations per second of the root volume, 100 to 64000; needed with io1, not with gp2.
    Default: AWS's."""
    throughput_mib: int | None = Field(default=None, ge=125, le=2000)
    """Throughput of a gp3 root volume in MiB/s, 125 to 2000. Default: 125."""
    kms_key_arn: KmsKeyArn | None = None
    """Key that encrypts the root volume. Default: the account's own for EBS."""
    placement_group: str | None = Field(default=None, min_length=1, max_length=255)
    """Name of an existing placement group. Default: none."""
    placement_group_partition: int | None = Field(default=None, ge=1, le=7)
    """Partition of a placement group of the strategy `partition`, 1 to 7. Default: none."""
    tenancy: Literal["default", "dedicated"] = "default"
    """`dedicated`: hardware without other accounts. Default default."""
    metadata_tokens: Literal["required", "optional"] = "required"
    """Whether the instance metadata service requires a session token. Default required."""
