"""Connection of pools on OpenShift: the cluster's location on its vCenter."""

from typing import NotRequired, TypedDict

import pulumi


class OpenShiftFailureDomainArgs(TypedDict):
    """Location of machines in one failure domain, as in the cluster's Infrastructure object: `oc
    get infrastructure cluster -o jsonpath={.spec.platformSpec.vsphere.failureDomains}`. Missing
    values are those of the connection."""

    server: NotRequired[pulumi.Input[str]]
    """vCenter."""
    datacenter: NotRequired[pulumi.Input[str]]
    """Datacenter."""
    network: NotRequired[pulumi.Input[str]]
    """Port group of the machines."""
    datastore: NotRequired[pulumi.Input[str]]
    """Datastore of the disks."""
    folder: NotRequired[pulumi.Input[str]]
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`."""
    resource_pool: NotRequired[pulumi.Input[str]]
    """Resource pool, `/<datacenter>/host/<cluster>/Resources`."""
    vm_group: NotRequired[pulumi.Input[str]]
    """DRS group of virtual machines, if the domain is a group of hosts (`zoneAffinity`): the
    machine API adds machines to it. A technology preview of OpenShift."""


class OpenShiftConnectionArgs(TypedDict):
    """Location of an OpenShift cluster's machines on its vCenter, as in its own MachineSets."""

    infrastructure_name: pulumi.Input[str]
    """Name of the cluster's infrastructure, `lab-x7k2p`: `oc get infrastructure cluster -o
    jsonpath={.status.infrastructureName}`."""
    server: pulumi.Input[str]
    """vCenter."""
    datacenter: pulumi.Input[str]
    """Datacenter."""
    network: pulumi.Input[str]
    """Port group of the machines."""
    datastore: NotRequired[pulumi.Input[str]]
    """Datastore of the disks. Default: the template's."""
    folder: NotRequired[pulumi.Input[str]]
    """Folder of the machines, absolute: `/<datacenter>/vm/<folder>`. Default: the template's."""
    resource_pool: NotRequired[pulumi.Input[str]]
    """Resource pool, `/<datacenter>/host/<cluster>/Resources`. Default: the template's."""
    credentials_secret: NotRequired[pulumi.Input[str]]
    """Secret with the vCenter's credentials, in `openshift-machine-api`. Default
    `vsphere-cloud-credentials`, which every cluster has."""
    user_data_secret: NotRequired[pulumi.Input[str]]
    """Secret with the workers' Ignition, in `openshift-machine-api`. Default `worker-user-data`,
    which every cluster has."""
    failure_domains: NotRequired[dict[str, OpenShiftFailureDomainArgs]]
    """Failure domain -> location, for pools that name it in `zones`. The names must be known before
    deployment. Default: none, all machines are in one location."""
