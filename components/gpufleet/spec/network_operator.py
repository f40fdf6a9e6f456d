"""Typed settings of the NVIDIA Network Operator: chart, NicClusterPolicy, networks.

Fields, defaults and rules: Mellanox/network-operator v26.4.1 `api/v1alpha1`, its definitions and
webhook schemas (read 2026-11-21). The webhook is off by default, so its rules are checked here.
"""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator

from gpufleet.spec.base import DnsLabel, SecretName, SpecModel
from gpufleet.spec.gpu_operator import ConfigMapName

RdmaResourceName = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$", max_length=63)
]
"""Resource of the RDMA shared device plugin: letters, digits, inner `-`, `_`, `.`."""

SriovResourceName = Annotated[
    str, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.]*)?[A-Za-z0-9]$", max_length=63)
]
"""Resource of the SR-IOV device plugin: letters, digits, inner `_`, `.`; no `-`."""

ResourcePrefix = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$"),
]
"""A domain of at least two parts, `nvidia.com`."""

OfedVersion = Annotated[
    str,
    StringConstraints(
        pattern=(
            r"^(doca[0-9]+\.[0-9]+(\.[0-9]+)?-[0-9]{2}\.[0-9]{2}-[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+"
            r"-[0-9][-.0-9a-z]*|[0-9]{2}\.[0-9]{2}-[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+[-.0-9a-z]*"
            r"|sha256:[0-9a-f]{64})$"
        )
    ),
]
"""`doca3.4.1-26.04-1.1.0.0-1`, `26.04-1.1.0.0`, or `sha256:` and 64 digits."""

NetworkName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", min_length=1, max_length=63),
]
"""Name of a network: pods name it in the annotation `k8s.v1.cni.cncf.io/networks`."""


class Ofed(StrEnum):
    """Source of DOCA-OFED, the drivers of RDMA NICs, on the nodes of RDMA pools."""

    INBOX = "inbox"
    """None: the NIC drivers of the distribution are used, and DMA-BUF reaches GPU memory."""
    OPERATOR = "operator"
    """The Network Operator, by a NicClusterPolicy with an ofedDriver."""
    HOST = "host"
    """It is in the node image."""


class OfedDrain(SpecModel):
    """How a node is drained before its NIC driver is replaced."""

    enabled: bool = True
    """Default true."""
    force: bool = False
    """Also pods that no controller would create again. Default false."""
    timeout_seconds: int = Field(default=300, ge=0)
    """At least 0; 0 means no limit. Default 300."""
    delete_empty_dir: bool = False
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    pod_selector: str = ""
    """Only pods with these labels. Default: all."""


class OfedUpgrade(SpecModel):
    """Rollout of a new NIC driver to the nodes."""

    auto_upgrade: bool = False
    """Upgrade automatically, node by node. Default false."""
    max_parallel_upgrades: int = Field(default=1, ge=0)
    """Maximum number of nodes at the same time, at least 0; 0 means no limit. Default 1."""
    safe_load: bool = False
    """Load the driver on a new node only after a drain; needs `autoUpgrade`. Default false."""
    drain: OfedDrain = Field(default_factory=OfedDrain)
    """Default: drain for 300 seconds."""


class OfedDriver(SpecModel):
    """DOCA-OFED from the Network Operator (`ofed: operator`)."""

    version: OfedVersion | None = None
    """Version of the driver image. Default: the operator release's own."""
    precompiled: bool = False
    """Only use images made for the nodes' kernel. Default false."""
    upgrade_policy: OfedUpgrade = Field(default_factory=OfedUpgrade)
    """Default: no automatic upgrade."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment of the driver container. Default: none."""
    repo_config: ConfigMapName | None = None
    """ConfigMap with package sources. Default: the image's."""
    cert_config: ConfigMapName | None = None
    """ConfigMap with certificates of package sources. Default: none."""


Words = tuple[Annotated[str, StringConstraints(min_length=1)], ...]
"""Any of these."""


class NicSelectors(SpecModel):
    """Selection of NICs: all given criteria must match; at least one is required."""

    vendors: Words = ()
    """PCI vendors, `15b3`."""
    device_ids: Words = ()
    """PCI devices, `101b`."""
    drivers: Words = ()
    """Kernel drivers, `mlx5_core`."""
    if_names: Words = ()
    """Network interfaces, `ens1f0`."""
    link_types: Words = ()
    """`ether` or `infiniband`."""


class RdmaResource(SpecModel):
    """NICs that several pods share: each requests `rdma/<name>: 1`."""

    name: RdmaResourceName
    """Name of the resource."""
    prefix: ResourcePrefix | None = None
    """Domain of the resource. Default: `rdma`."""
    pods_per_node: int = Field(default=63, ge=1, le=10_000)
    """Maximum number of pods with the resource on one node, 1 to 10000. Default 63."""
    selectors: NicSelectors = Field(default_factory=lambda: NicSelectors(vendors=("15b3",)))
    """Selected NICs. Default: all of NVIDIA's (vendor 15b3)."""


class SriovDevice(StrEnum):
    """Kind of device that the SR-IOV plugin assigns."""

    NET_DEVICE = "netDevice"
    ACCELERATOR = "accelerator"
    AUX_NET_DEVICE = "auxNetDevice"


class SriovSelectors(SpecModel):
    """Selection of devices: all given criteria must match; at least one is required."""

    vendors: Words = ()
    """PCI vendors, `15b3`."""
    devices: Words = ()
    """PCI devices, `101e`."""
    drivers: Words = ()
    """Kernel drivers, `mlx5_core`."""
    pci_addresses: Words = ()
    """PCI addresses, `0000:86:00.2`."""
    pf_names: Words = ()
    """Physical functions, `ens1f0`."""
    root_devices: Words = ()
    """PCI addresses of physical functions."""
    link_types: Words = ()
    """`ether` or `infiniband`."""
    is_rdma: bool | None = None
    """Also mount the RDMA devices. Default: the plugin's, false."""


class SriovResource(SpecModel):
    """NIC functions, one pod each: pods request `<prefix>/<name>: 1`."""

    name: SriovResourceName
    """Name of the resource, without `-`."""
    prefix: ResourcePrefix = "nvidia.com"
    """Domain of the resource. Default `nvidia.com`."""
    device_type: SriovDevice = SriovDevice.NET_DEVICE
    """Default netDevice."""
    selectors: SriovSelectors
    """Which devices."""


class Network(SpecModel):
    """A secondary network for pods."""

    name: NetworkName
    """Name of the network."""
    namespace: DnsLabel = "default"
    """Namespace of the operator's NetworkAttachmentDefinition. Default `default`."""
    ipam: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Address management in the form of the CNI plugin: `{type: nv-ipam, poolName: rail-0}`,
    `{type: whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""

    @model_validator(mode="after")
    def _typed(self) -> Self:
        if self.ipam and not isinstance(self.ipam.get("type"), str):
            raise ValueError("ipam has no type; one of nv-ipam, whereabouts, static, dhcp")
        return self


class MacvlanMode(StrEnum):
    """Communication between interfaces of one master."""

    BRIDGE = "bridge"
    PRIVATE = "private"
    VEPA = "vepa"
    PASSTHRU = "passthru"


class MacvlanNetwork(Network):
    """A virtual Ethernet interface on a NIC that pods share."""

    master: str | None = None
    """Interface of the node. Default: the one of the default route."""
    mode: MacvlanMode = MacvlanMode.BRIDGE
    """Default bridge."""
    mtu: int | None = Field(default=None, ge=0, le=65_536)
    """0 to 65536. Default: the master's."""


class HostDeviceNetwork(Network):
    """A whole NIC function, moved into the pod."""

    resource_name: SriovResourceName
    """Resource of `sriov` with the function, without the prefix."""


class IpoibNetwork(Network):
    """A virtual IP-over-InfiniBand interface."""

    master: str | None = None
    """Interface of the node. Default: the one of the default route."""


class NetworkOperatorSettings(SpecModel):
    """Typed settings of the parts that the Network Operator runs."""

    ofed: Ofed = Ofed.INBOX
    """Source of DOCA-OFED. Default inbox."""
    ofed_driver: OfedDriver = Field(default_factory=OfedDriver)
    """With `ofed: operator`: the driver. Default: the operator release's own."""
    rdma: tuple[RdmaResource, ...] | None = None
    """Resources of the RDMA shared device plugin. Default: `rdma_shared_device_a` with RDMA pools
    and no `sriov`, else none."""
    sriov: tuple[SriovResource, ...] = ()
    """Resources of the SR-IOV device plugin. Default: none."""
    macvlan: tuple[MacvlanNetwork, ...] = ()
    """MacvlanNetworks. Default: none."""
    host_device: tuple[HostDeviceNetwork, ...] = ()
    """HostDeviceNetworks. Default: none."""
    ipoib: tuple[IpoibNetwork, ...] = ()
    """IPoIBNetworks. Default: none."""
    wait: bool | None = None
    """Wait until the NicClusterPolicy is ready before networks and GPU Operator are created. It is
    ready only while a node has an NVIDIA NIC. Default: true if a pool with RDMA already exists
    with nodes, else false (the operator then continues once nodes exist)."""
    policy: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Raw spec of the NicClusterPolicy, merged last. Default: none."""
    image_pull_secret: SecretName | None = None
    """Name of the Secret for NGC images. Default: none."""
