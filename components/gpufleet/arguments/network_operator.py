"""Inputs of components: what restates `gpufleet.spec.network_operator`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.words import MacvlanModeWord, OfedWord, SriovDeviceWord


class OfedDrainArgs(TypedDict):
    """How a node is drained before its NIC driver is replaced."""

    enabled: NotRequired[bool]
    """Default true."""
    force: NotRequired[bool]
    """Also pods that no controller would make again. Default false."""
    timeout_seconds: NotRequired[int]
    """At least 0; 0 is for ever. Default 300."""
    delete_empty_dir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    pod_selector: NotRequired[str]
    """Only pods with these labels. Default: all."""


class OfedUpgradeArgs(TypedDict):
    """How a new NIC driver reaches the nodes."""

    auto_upgrade: NotRequired[bool]
    """Upgrade by itself, node by node. Default false."""
    max_parallel_upgrades: NotRequired[int]
    """Nodes at the same time, at least 0; 0 is no limit. Default 1."""
    safe_load: NotRequired[bool]
    """Load the driver on a new node only once it is drained; needs `autoUpgrade`. Default
    false."""
    drain: NotRequired[OfedDrainArgs]
    """Default: drain for 300 seconds."""


class OfedDriverArgs(TypedDict):
    """DOCA-OFED as the Network Operator installs it (`ofed: operator`)."""

    version: NotRequired[str]
    """Version of the driver image. Default: the operator release's own."""
    precompiled: NotRequired[bool]
    """Only use images made for the nodes' kernel. Default false."""
    upgrade_policy: NotRequired[OfedUpgradeArgs]
    """Default: no automatic upgrade."""
    env: NotRequired[dict[str, str]]
    """Environment of the driver container. Default: none."""
    repo_config: NotRequired[str]
    """ConfigMap with package sources. Default: the image's."""
    cert_config: NotRequired[str]
    """ConfigMap with certificates of package sources. Default: none."""


class NicSelectorsArgs(TypedDict):
    """Which NICs: all criteria that are written must hold; at least one is."""

    vendors: NotRequired[list[str]]
    """PCI vendors, `15b3`."""
    device_ids: NotRequired[list[str]]
    """PCI devices, `101b`."""
    drivers: NotRequired[list[str]]
    """Kernel drivers, `mlx5_core`."""
    if_names: NotRequired[list[str]]
    """Network interfaces, `ens1f0`."""
    link_types: NotRequired[list[str]]
    """`ether` or `infiniband`."""


class RdmaResourceArgs(TypedDict):
    """NICs that several pods share: each asks for `rdma/<name>: 1`."""

    name: str
    """Name of the resource."""
    prefix: NotRequired[str]
    """Domain of the resource. Default: `rdma`."""
    pods_per_node: NotRequired[int]
    """How many pods may hold it on one node, 1 to 10000. Default 63."""
    selectors: NotRequired[NicSelectorsArgs]
    """Which NICs. Default: all of NVIDIA's (vendor 15b3)."""


class SriovSelectorsArgs(TypedDict):
    """Which devices: all criteria that are written must hold; at least one is."""

    vendors: NotRequired[list[str]]
    """PCI vendors, `15b3`."""
    devices: NotRequired[list[str]]
    """PCI devices, `101e`."""
    drivers: NotRequired[list[str]]
    """Kernel drivers, `mlx5_core`."""
    pci_addresses: NotRequired[list[str]]
    """PCI addresses, `0000:86:00.2`."""
    pf_names: NotRequired[list[str]]
    """Physical functions, `ens1f0`."""
    root_devices: NotRequired[list[str]]
    """PCI addresses of physical functions."""
    link_types: NotRequired[list[str]]
    """`ether` or `infiniband`."""
    is_rdma: NotRequired[bool]
    """Mount the RDMA devices too. Default: the plugin's, false."""


class SriovResourceArgs(TypedDict):
    """NIC functions, one pod each: pods ask for `<prefix>/<name>: 1`."""

    name: str
    """Name of the resource, without `-`."""
    prefix: NotRequired[str]
    """Domain of the resource. Default `nvidia.com`."""
    device_type: NotRequired[SriovDeviceWord]
    """One of `netDevice`, `accelerator`, `auxNetDevice`. Default netDevice."""
    selectors: SriovSelectorsArgs
    """Which devices."""


class MacvlanNetworkArgs(TypedDict):
    """A virtual Ethernet interface on a NIC that pods share."""

    name: str
    """Name of the network."""
    namespace: NotRequired[str]
    """Namespace of the NetworkAttachmentDefinition that the operator makes. Default `default`."""
    ipam: NotRequired[dict[str, Any]]
    """Address management as the CNI plugin reads it: `{type: nv-ipam, poolName: rail-0}`, `{type:
    whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
    master: NotRequired[str]
    """Interface of the node. Default: the one of the default route."""
    mode: NotRequired[MacvlanModeWord]
    """One of `bridge`, `private`, `vepa`, `passthru`. Default bridge."""
    mtu: NotRequired[int]
    """0 to 65536. Default: the master's."""


class HostDeviceNetworkArgs(TypedDict):
    """A whole NIC function, moved into the pod."""

    name: str
    """Name of the network."""
    namespace: NotRequired[str]
    """Namespace of the NetworkAttachmentDefinition that the operator makes. Default `default`."""
    ipam: NotRequired[dict[str, Any]]
    """Address management as the CNI plugin reads it: `{type: nv-ipam, poolName: rail-0}`, `{type:
    whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
    resource_name: str
    """Resource of `sriov` that brings it, without the prefix."""


class IpoibNetworkArgs(TypedDict):
    """A virtual IP-over-InfiniBand interface."""

    name: str
    """Name of the network."""
    namespace: NotRequired[str]
    """Namespace of the NetworkAttachmentDefinition that the operator makes. Default `default`."""
    ipam: NotRequired[dict[str, Any]]
    """Address management as the CNI plugin reads it: `{type: nv-ipam, poolName: rail-0}`, `{type:
    whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
    master: NotRequired[str]
    """Interface of the node. Default: the one of the default route."""


class NetworkOperatorSettingsArgs(TypedDict):
    """What the Network Operator runs, in typed form."""

    ofed: NotRequired[OfedWord]
    """One of `inbox`, `operator`, `host`. Who brings DOCA-OFED. Default inbox."""
    ofed_driver: NotRequired[OfedDriverArgs]
    """With `ofed: operator`: which driver. Default: the operator release's own."""
    rdma: NotRequired[list[RdmaResourceArgs]]
    """Resources of the RDMA shared device plugin. Default: `rdma_shared_device_a` with RDMA pools
    and no `sriov`, else none."""
    sriov: NotRequired[list[SriovResourceArgs]]
    """Resources of the SR-IOV device plugin. Default: none."""
    macvlan: NotRequired[list[MacvlanNetworkArgs]]
    """MacvlanNetworks. Default: none."""
    host_device: NotRequired[list[HostDeviceNetworkArgs]]
    """HostDeviceNetworks. Default: none."""
    ipoib: NotRequired[list[IpoibNetworkArgs]]
    """IPoIBNetworks. Default: none."""
    wait: NotRequired[bool]
    """Wait until the NicClusterPolicy is ready before networks and GPU Operator are made. It is
    ready only while a node has an NVIDIA NIC, so: default true when a pool with RDMA exists
    already and has nodes, else false (the operator then goes on by itself once nodes come)."""
    policy: NotRequired[dict[str, Any]]
    """Raw spec of the NicClusterPolicy, merged last. Default: none."""
    image_pull_secret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
