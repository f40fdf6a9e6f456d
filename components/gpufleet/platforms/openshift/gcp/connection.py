"""Connection of pools on OpenShift on Google Cloud."""

from typing import NotRequired, TypedDict

import pulumi


class OpenShiftGcpConnectionArgs(TypedDict):
    """Location of an OpenShift cluster's machines on Google Cloud, as in its own MachineSets."""

    infrastructure_name: pulumi.Input[str]
    """Name of the cluster's infrastructure, `lab-x7k2p`: `oc get infrastructure cluster -o
    jsonpath={.status.infrastructureName}`."""
    project_id: pulumi.Input[str]
    """Google Cloud project of the machines."""
    network: pulumi.Input[str]
    """Network, `lab-x7k2p-network`."""
    subnetwork: pulumi.Input[str]
    """Subnetwork of workers, `lab-x7k2p-worker-subnet`."""
    service_account: pulumi.Input[str]
    """E-mail of the service account of workers."""
    image: NotRequired[pulumi.Input[str]]
    """Disk image of Red Hat CoreOS; needed for pools without `image`."""
    network_project_id: NotRequired[pulumi.Input[str]]
    """Project of the network, if it is shared. Default: that of the machines."""
    network_tags: NotRequired[list[pulumi.Input[str]]]
    """Network tags, `lab-x7k2p-worker`, which firewall rules name. Default: none."""
    credentials_secret: NotRequired[pulumi.Input[str]]
    """Secret with credentials of Google Cloud, in `openshift-machine-api`. Default
    `gcp-cloud-credentials`, which every cluster has."""
    user_data_secret: NotRequired[pulumi.Input[str]]
    """Secret with the workers' Ignition, in `openshift-machine-api`. Default `worker-user-data`,
    which every cluster has."""
