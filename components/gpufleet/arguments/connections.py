"""Inputs of components that are values of other resources.

Generated from spec/wired_inputs.yaml by tests/unit/components/write_arguments.py: edit that file.
"""

from typing import Any, NotRequired, TypedDict

import pulumi


class GkeNetworkArgs(TypedDict):
    """A network of GPU interfaces."""

    network: pulumi.Input[str]
    """Name of the VPC network."""
    subnetwork: pulumi.Input[str]
    """Name of its subnet in the cluster's region."""


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
    """Failure domain -> location, for pools that name it in `zones`. The names must be known
    before deployment. Default: none, all machines are in one location."""


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


class VsphereJoinArgs(TypedDict):
    """How machines join their cluster, if gpufleet writes the first-boot data."""

    method: str
    """`kubeadm`, `rke2`, `k3s`, or `openshift` for Red Hat CoreOS: the software in the
    template."""
    endpoint: pulumi.Input[str]
    """kubeadm `host:6443`; RKE2 `https://host:9345`; k3s `https://host:6443`; OpenShift
    `https://api-int.<cluster>:22623/config/<machine config pool>`."""
    token: NotRequired[pulumi.Input[str]]
    """Secret; required except on OpenShift. Use one that expires: it can be read in vCenter until
    the machine's first boot."""
    ca_cert_hashes: NotRequired[pulumi.Input[list[pulumi.Input[str]]]]
    """kubeadm: `sha256:…` of the cluster's authority; needed there."""
    ca_certificate: NotRequired[pulumi.Input[str]]
    """OpenShift: PEM certificate of the machine config server's authority; needed there."""
    kubelet_arguments: NotRequired[dict[str, str]]
    """Additional arguments of the kubelet, without hyphens: `{"cloud-provider": "external"}`. Not
    on OpenShift, and not `node-labels` or `register-with-taints`, which follow from the pool. A
    change needs another machine. Default: none."""


class VsphereKubernetesArgs(TypedDict):
    """The cluster of the machines, if gpufleet may access it."""

    kubeconfig: str
    """Path of a kubeconfig on the machine that runs Pulumi, `~` allowed. The state never contains
    it. Its user reads, patches and deletes nodes, lists pods and creates evictions."""
    context: NotRequired[str]
    """Context to use. Default: the file's current one."""
    ready_seconds: NotRequired[int]
    """Maximum time until a new machine is a Ready node, 1 to 86400. Default 900."""
    drain_seconds: NotRequired[int]
    """Maximum time of a node's drain before its machine is removed or restarted, 1 to 86400.
    Default 900."""
    when_not_drained: NotRequired[str]
    """`refuse` (default): the machine stays and the update fails. `remove`: it is removed with
    its pods."""


class VsphereConnectionArgs(TypedDict):
    """A vCenter and the location of machines in its inventory."""

    server: str
    """Host name or address of the vCenter."""
    port: NotRequired[int]
    """Default 443."""
    insecure: NotRequired[bool]
    """Accept any certificate. Default false."""
    ca_cert_file: NotRequired[str]
    """PEM file of the authority that signed the certificate. Default: the system's."""
    thumbprint_sha256: NotRequired[str]
    """SHA-256 fingerprint that the certificate must have, `AB:CD:…`. Default: not pinned."""
    plain_http: NotRequired[bool]
    """Connect without TLS: only for a simulator on this machine. Default false."""
    credentials_key: NotRequired[str]
    """Source of credentials: `vsphere` reads VSPHERE_USER and VSPHERE_PASSWORD, else the stack's
    secret settings `vsphere:user` and `vsphere:password`. Default `vsphere`."""
    datacenter: str
    """Datacenter, by name or inventory path."""
    compute_cluster: str
    """Cluster, or standalone host."""
    resource_pool: NotRequired[str]
    """Default: the cluster's root pool."""
    network: NotRequired[str]
    """Network of the first adapter, for pools that declare no `networks`. Default: the
    template's."""
    network_adapter: NotRequired[str]
    """Type of the first adapter, `vmxnet3` or `e1000e`; another type is another MAC address.
    Default: the template's."""
    meta_data: NotRequired[dict[str, Any]]
    """Additional meta data of cloud-init for every machine, not secret: `network`,
    `wait-on-network`. A change needs another machine. Default: none."""
    vendor_data: NotRequired[pulumi.Input[str]]
    """cloud-init vendor data of every machine, kept as a secret: runs before the user data that
    `join` writes, which has precedence. A change needs another machine. Default: none."""
    user_data: NotRequired[pulumi.Input[str]]
    """First-boot data of every machine, used unchanged. This or `join`; with neither, the
    template must contain the join configuration."""
    user_data_format: NotRequired[str]
    """`cloudInit` (default), or `ignition` for Red Hat CoreOS, Fedora CoreOS and Flatcar; also
    the format of `join`."""
    join: NotRequired[VsphereJoinArgs]
    """Let gpufleet write the first-boot data."""
    kubernetes: NotRequired[VsphereKubernetesArgs]
    """With it a new machine counts as created once its node is Ready, its secret first-boot data
    is then removed from vCenter, and a node is drained before its machine is removed or
    restarted. Default: the cluster is not accessed."""
    preflight: NotRequired[str]
    """`preview` (default): if credentials exist, a preview checks in vCenter whether new machines
    can be created. `create`: no check in advance."""


class GpuFleetConnectionArgs(TypedDict):
    """Values of other resources that a fleet is connected to."""

    cluster_name: NotRequired[pulumi.Input[str]]
    """Cluster that the nodes join, as an output of the resource that creates it; nodes wait for
    it. Default: `cluster.name` of the spec."""
    node_role_arn: NotRequired[pulumi.Input[str]]
    """EKS: IAM role of the nodes; needed there."""
    subnet_ids_by_zone: NotRequired[dict[str, pulumi.Input[str]]]
    """EKS: zone -> private subnet; needed there. The zones must be known before deployment, the
    ids may be outputs."""
    vpc_id: NotRequired[pulumi.Input[str]]
    """EKS: network of the cluster; needed with `fabric: efa`."""
    cluster_security_group_id: NotRequired[pulumi.Input[str]]
    """EKS: security group that EKS created for the cluster; needed with `fabric: efa` and with
    Karpenter."""
    security_group_ids: NotRequired[list[pulumi.Input[str]]]
    """EKS: additional security groups of the nodes. Default: none."""
    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """EKS: address of the API server; needed with images of your own."""
    cluster_certificate_authority: NotRequired[pulumi.Input[str]]
    """EKS: its certificate authority, Base64; needed with images of your own."""
    cluster_service_cidr: NotRequired[pulumi.Input[str]]
    """EKS: address range of services; needed with images of your own."""
    location: NotRequired[pulumi.Input[str]]
    """GKE: location of the control plane of a zonal cluster. Default: the region."""
    project: NotRequired[pulumi.Input[str]]
    """GKE: Google Cloud project. Default: `cluster.project` of the spec, else the provider's."""
    service_account: NotRequired[pulumi.Input[str]]
    """GKE: e-mail of the nodes' service account. Default: the project's default one."""
    network_tags: NotRequired[list[pulumi.Input[str]]]
    """GKE: network tags of the nodes. Default: none."""
    gpu_networks: NotRequired[dict[str, GkeNetworkArgs]]
    """GKE: networks of GPU interfaces, by the name pods use (`vpc1`, `gvnic-1`, `rdma-0`); needed
    with a `fabric`, unless GKE creates them. The names must be known before deployment."""
    vsphere: NotRequired[VsphereConnectionArgs]
    """vSphere: the vCenter, the location in its inventory, and the connection to the cluster;
    needed there."""
    openshift: NotRequired[OpenShiftConnectionArgs]
    """OpenShift: the cluster's location on its vCenter; needed there."""
    openshift_aws: NotRequired[OpenShiftAwsConnectionArgs]
    """OpenShift on AWS: the cluster's location; needed there."""
    openshift_gcp: NotRequired[OpenShiftGcpConnectionArgs]
    """OpenShift on Google Cloud: the cluster's location; needed there."""
