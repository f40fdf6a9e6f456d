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
    """Also pods that no controller would create again. Default false."""
    timeout_seconds: NotRequired[int]
    """At least 0; 0 means no limit. Default 300."""
    delete_empty_dir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    pod_selector: NotRequired[str]
    """Only pods with these labels. Default: all."""


class OfedUpgradeArgs(TypedDict):
    """Rollout of a new NIC driver to the nodes."""

    auto_upgrade: NotRequired[bool]
    """Upgrade automatically, node by node. Default false."""
    max_parallel_upgrades: NotRequired[int]
    """Maximum number of nodes at the same time, at least 0; 0 means no limit. Default 1."""
    safe_load: NotRequired[bool]
    """Load the driver on a new node only after a drain; needs `autoUpgrade`. Default false."""
    drain: NotRequired[OfedDrainArgs]
    """Default: drain for 300 seconds."""


class OfedDriverArgs(TypedDict):
    """DOCA-OFED from the Network Operator (`ofed: operator`)."""

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
    """Selection of NICs: all given criteria must match; at least one is required."""

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
    """NICs that several pods share: each requests `rdma/<name>: 1`."""

    name: str
    """Name of the resource."""
    prefix: NotRequired[str]
    """Domain of the resource. Default: `rdma`."""
    pods_per_node: NotRequired[int]
    """Maximum number of pods with the resource on one node, 1 to 10000. Default 63."""
    selectors: NotRequired[NicSelectorsArgs]
    """Selected NICs. Default: all of NVIDIA's (vendor 15b3)."""


class SriovSelectorsArgs(TypedDict):
    """Selection of devices: all given criteria must match; at least one is required."""

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
    """Also mount the RDMA devices. Default: the plugin's, false."""


class SriovResourceArgs(TypedDict):
    """NIC functions, one pod each: pods request `<prefix>/<name>: 1`."""

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
    """Namespace of the operator's NetworkAttachmentDefinition. Default `default`."""
    ipam: NotRequired[dict[str, Any]]
    """Address management in the form of the CNI plugin: `{type: nv-ipam, poolName: rail-0}`,
    `{type: whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
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
    """Namespace of the operator's NetworkAttachmentDefinition. Default `default`."""
    ipam: NotRequired[dict[str, Any]]
    """Address management in the form of the CNI plugin: `{type: nv-ipam, poolName: rail-0}`,
    `{type: whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
    resource_name: str
    """Resource of `sriov` with the function, without the prefix."""


class IpoibNetworkArgs(TypedDict):
    """A virtual IP-over-InfiniBand interface."""

    name: str
    """Name of the network."""
    namespace: NotRequired[str]
    """Namespace of the operator's NetworkAttachmentDefinition. Default `default`."""
    ipam: NotRequired[dict[str, Any]]
    """Address management in the form of the CNI plugin: `{type: nv-ipam, poolName: rail-0}`,
    `{type: whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
    master: NotRequired[str]
    """Interface of the node. Default: the one of the default route."""


class NetworkOperatorSettingsArgs(TypedDict):
    """Typed settings of the parts that the Network Operator runs."""

    ofed: NotRequired[OfedWord]
    """One of `inbox`, `operator`, `host`. Source of DOCA-OFED. Default inbox."""
    ofed_driver: NotRequired[OfedDriverArgs]
    """With `ofed: operator`: the driver. Default: the operator release's own."""
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
    """Wait until the NicClusterPolicy is ready before networks and GPU Operator are created. It
    is ready only while a node has an NVIDIA NIC. Default: true if a pool with RDMA already exists
    with nodes, else false (the operator then continues once nodes exist)."""
    policy: NotRequired[dict[str, Any]]
    """Raw spec of the NicClusterPolicy, merged last. Default: none."""
    image_pull_secret: NotRequired[str]
    """Name of the Secret for NGC images. Default: none."""
