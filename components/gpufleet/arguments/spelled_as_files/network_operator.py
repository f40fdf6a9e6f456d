"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.network_operator`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.words import SriovDeviceWord


class OfedDrainDict(TypedDict):
    """How a node is drained before its NIC driver is replaced."""

    enabled: NotRequired[bool]
    """Default true."""
    force: NotRequired[bool]
    """Also pods that no controller would create again. Default false."""
    timeoutSeconds: NotRequired[int]
    """At least 0; 0 means no limit. Default 300."""
    deleteEmptyDir: NotRequired[bool]
    """Also pods with emptyDir volumes, whose data is lost. Default false."""
    podSelector: NotRequired[str]
    """Only pods with these labels. Default: all."""


class OfedUpgradeDict(TypedDict):
    """Rollout of a new NIC driver to the nodes."""

    autoUpgrade: NotRequired[bool]
    """Upgrade automatically, node by node. Default false."""
    maxParallelUpgrades: NotRequired[int]
    """Maximum number of nodes at the same time, at least 0; 0 means no limit. Default 1."""
    safeLoad: NotRequired[bool]
    """Load the driver on a new node only after a drain; needs `autoUpgrade`. Default false."""
    drain: NotRequired[OfedDrainDict]
    """Default: drain for 300 seconds."""


class OfedDriverDict(TypedDict):
    """DOCA-OFED from the Network Operator (`ofed: operator`)."""

    version: NotRequired[str]
    """Version of the driver image. Default: the operator release's own."""
    precompiled: NotRequired[bool]
    """Only use images made for the nodes' kernel. Default false."""
    upgradePolicy: NotRequired[OfedUpgradeDict]
    """Default: no automatic upgrade."""
    env: NotRequired[Mapping[str, str]]
    """Environment of the driver container. Default: none."""
    repoConfig: NotRequired[str]
    """ConfigMap with package sources. Default: the image's."""
    certConfig: NotRequired[str]
    """ConfigMap with certificates of package sources. Default: none."""


class NicSelectorsDict(TypedDict):
    """Selection of NICs: all given criteria must match; at least one is required."""

    vendors: NotRequired[Sequence[str]]
    """PCI vendors, `15b3`."""
    deviceIds: NotRequired[Sequence[str]]
    """PCI devices, `101b`."""
    drivers: NotRequired[Sequence[str]]
    """Kernel drivers, `mlx5_core`."""
    ifNames: NotRequired[Sequence[str]]
    """Network interfaces, `ens1f0`."""
    linkTypes: NotRequired[Sequence[str]]
    """`ether` or `infiniband`."""


class RdmaResourceDict(TypedDict):
    """NICs that several pods share: each requests `rdma/<name>: 1`."""

    name: str
    """Name of the resource."""
    prefix: NotRequired[str]
    """Domain of the resource. Default: `rdma`."""
    podsPerNode: NotRequired[int]
    """Maximum number of pods with the resource on one node, 1 to 10000. Default 63."""
    selectors: NotRequired[NicSelectorsDict]
    """Selected NICs. Default: all of NVIDIA's (vendor 15b3)."""


class SriovSelectorsDict(TypedDict):
    """Selection of devices: all given criteria must match; at least one is required."""

    vendors: NotRequired[Sequence[str]]
    """PCI vendors, `15b3`."""
    devices: NotRequired[Sequence[str]]
    """PCI devices, `101e`."""
    drivers: NotRequired[Sequence[str]]
    """Kernel drivers, `mlx5_core`."""
    pciAddresses: NotRequired[Sequence[str]]
    """PCI addresses, `0000:86:00.2`."""
    pfNames: NotRequired[Sequence[str]]
    """Physical functions, `ens1f0`."""
    rootDevices: NotRequired[Sequence[str]]
    """PCI addresses of physical functions."""
    linkTypes: NotRequired[Sequence[str]]
    """`ether` or `infiniband`."""
    isRdma: NotRequired[bool]
    """Also mount the RDMA devices. Default: the plugin's, false."""


class SriovResourceDict(TypedDict):
    """NIC functions, one pod each: pods request `<prefix>/<name>: 1`."""

    name: str
    """Name of the resource, without `-`."""
    prefix: NotRequired[str]
    """Domain of the resource. Default `nvidia.com`."""
    deviceType: NotRequired[SriovDeviceWord]
    """One of `netDevice`, `accelerator`, `auxNetDevice`. Default netDevice."""
    selectors: SriovSelectorsDict
    """Which devices."""


class HostDeviceNetworkDict(TypedDict):
    """A whole NIC function, moved into the pod."""

    name: str
    """Name of the network."""
    namespace: NotRequired[str]
    """Namespace of the operator's NetworkAttachmentDefinition. Default `default`."""
    ipam: NotRequired[Mapping[str, Any]]
    """Address management in the form of the CNI plugin: `{type: nv-ipam, poolName: rail-0}`,
    `{type: whereabouts, range: 10.0.0.0/16}`. Default: no addresses."""
    resourceName: str
    """Resource of `sriov` with the function, without the prefix."""
