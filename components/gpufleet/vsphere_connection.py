"""What vSphere pools are wired to: a vCenter, a place in it, and the way into a cluster."""

from typing import NotRequired, TypedDict

import pulumi


class VsphereJoinArgs(TypedDict):
    """How machines join their cluster, where gpufleet writes the first-boot data."""

    method: str
    """`kubeadm`, `rke2` or `k3s`: what the template was built for."""
    endpoint: pulumi.Input[str]
    """kubeadm `host:6443`; RKE2 `https://host:9345`; k3s `https://host:6443`."""
    token: pulumi.Input[str]
    """Secret. Use one that expires: it can be read in vCenter until the machine's first boot."""
    ca_cert_hashes: NotRequired[list[pulumi.Input[str]]]
    """kubeadm: `sha256:…` of the cluster's authority; needed there."""


class VsphereConnectionArgs(TypedDict):
    """A vCenter and where in its inventory machines go."""

    server: str
    """Host name or address of the vCenter."""
    port: NotRequired[int]
    """Default 443."""
    insecure: NotRequired[bool]
    """Accept any certificate. Default false."""
    ca_cert_file: NotRequired[str]
    """PEM file of the authority that signed the certificate. Default: the system's."""
    thumbprint_sha256: NotRequired[str]
    """SHA-256 fingerprint the certificate must have, `AB:CD:…`. Default: not pinned."""
    plain_http: NotRequired[bool]
    """Speak without TLS: only for a simulator on this machine. Default false."""
    credentials_key: NotRequired[str]
    """Which credentials: `vsphere` reads VSPHERE_USER and VSPHERE_PASSWORD, else the stack's secret
    settings `vsphere:user` and `vsphere:password`. Default `vsphere`."""
    datacenter: str
    """Datacenter, by name or inventory path."""
    compute_cluster: str
    """Cluster, or standalone host."""
    resource_pool: NotRequired[str]
    """Default: the cluster's root pool."""
    network: NotRequired[str]
    """Network of the first adapter. Default: the template's."""
    user_data: NotRequired[pulumi.Input[str]]
    """First-boot data of every machine, as it is. This or `join`; with neither, the template must
    know how to join."""
    user_data_format: NotRequired[str]
    """`cloudInit` (default) or `ignition`."""
    join: NotRequired[VsphereJoinArgs]
    """Let gpufleet write the first-boot data."""
