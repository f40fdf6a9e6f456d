"""Connection of vSphere pools: a vCenter, a location in it, and the connection to a cluster."""

from typing import Any, NotRequired, TypedDict

import pulumi


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
    ca_cert_hashes: NotRequired[list[pulumi.Input[str]]]
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
    """Path of a kubeconfig on the machine that runs Pulumi, `~` allowed. The state never
    contains it. Its user reads, patches and deletes nodes, lists pods and creates evictions."""
    context: NotRequired[str]
    """Context to use. Default: the file's current one."""
    ready_seconds: NotRequired[int]
    """Maximum time until a new machine is a Ready node, 1 to 86400. Default 900."""
    drain_seconds: NotRequired[int]
    """Maximum time of a node's drain before its machine is removed or restarted, 1 to 86400.
    Default 900."""
    when_not_drained: NotRequired[str]
    """`refuse` (default): the machine stays and the update fails. `remove`: it is removed with its
    pods."""


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
    """First-boot data of every machine, used unchanged. This or `join`; with neither, the template
    must contain the join configuration."""
    user_data_format: NotRequired[str]
    """`cloudInit` (default), or `ignition` for Red Hat CoreOS, Fedora CoreOS and Flatcar; also the
    format of `join`."""
    join: NotRequired[VsphereJoinArgs]
    """Let gpufleet write the first-boot data."""
    kubernetes: NotRequired[VsphereKubernetesArgs]
    """With it a new machine counts as created once its node is Ready, its secret first-boot data is
    then removed from vCenter, and a node is drained before its machine is removed or restarted.
    Default: the cluster is not accessed."""
    preflight: NotRequired[str]
    """`preview` (default): if credentials exist, a preview checks in vCenter whether new machines
    can be created. `create`: no check in advance."""
