"""Connection of pools on OpenShift on AWS."""

from typing import NotRequired, TypedDict

import pulumi


class OpenShiftAwsConnectionArgs(TypedDict):
    """Location of an OpenShift cluster's machines on AWS, as in its own MachineSets."""

    infrastructure_name: pulumi.Input[str]
    """Name of the cluster's infrastructure, `lab-x7k2p`: `oc get infrastructure cluster -o
    jsonpath={.status.infrastructureName}`."""
    iam_instance_profile: pulumi.Input[str]
    """Name of the IAM instance profile of workers, `lab-x7k2p-worker-profile`."""
    ami_id: NotRequired[pulumi.Input[str]]
    """Image of Red Hat CoreOS in the cluster's region; needed for pools without `amiId`."""
    subnet_ids_by_zone: NotRequired[dict[str, pulumi.Input[str]]]
    """Zone -> subnet. The zones must be known before deployment, the ids may be outputs."""
    subnet_names_by_zone: NotRequired[dict[str, pulumi.Input[str]]]
    """Zone -> value of the tag `Name` of a subnet, if MachineSets select subnets by it."""
    security_group_ids: NotRequired[list[pulumi.Input[str]]]
    """Security groups of workers; these or `security_group_names`."""
    security_group_names: NotRequired[list[pulumi.Input[str]]]
    """Values of the tag `Name` of security groups of workers."""
    credentials_secret: NotRequired[pulumi.Input[str]]
    """Secret with credentials of AWS, in `openshift-machine-api`. Default
    `aws-cloud-credentials`, which every cluster has."""
    user_data_secret: NotRequired[pulumi.Input[str]]
    """Secret with the workers' Ignition, in `openshift-machine-api`. Default `worker-user-data`,
    which every cluster has."""
