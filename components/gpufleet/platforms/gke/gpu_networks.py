"""Networks of GPU interfaces that a fleet creates, as in Google's blueprints.

A VPC with one subnet for each interface of GPUDirect-TCPX and TCPXO; for RDMA a VPC of the second
network card, and one VPC with a RoCE network profile, whose subnets are the interfaces
(GoogleCloudPlatform/cluster-toolkit 01a7a3e `examples/gke-a3-megagpu/gke-a3-megagpu.yaml`, 0043c21
`examples/gke-a3-ultragpu/gke-a3-ultragpu.yaml`, 0386bea `examples/gke-a4x/gke-a4x.yaml`, 193d0f9
`modules/network/gpu-rdma-vpc/main.tf`, 10f8084 `modules/network/multivpc/main.tf`; read
2026-11-23). Each interface has a fixed part of the range, independent of the other pools.

Kubernetes objects let pods use a GPU machine's extra network interfaces.

For each network one GKENetworkParamSet, which names VPC and subnet, and one Network, which pods
name (GoogleCloudPlatform/cluster-toolkit 1047080 and GKE documentation, multi-networking; read
2026-11-21). They exist once per cluster, for all pools.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError
from pathlib import Path
from typing import Any

from gpufleet.components_base.refused_arguments import refused_arguments
from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.names import google_prefix
from gpufleet.platforms.gke.shape import GpuInterface, gke_shape
from gpufleet.spec.addons import GpuNetworks
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.fleet_spec import FleetSpec

_finding, _rules = findings_in(__file__), rules_in(__file__)

_FILE = Path(__file__).with_name("gpu_networks")
NETWORK = "gcp:compute/network:Network"
FIREWALL = "gcp:compute/firewall:Firewall"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
"""Types of the provider."""

JUMBO = 8244
"""MTU of networks of GPUDirect-TCPX and TCPXO in Google's blueprints; others have the default."""
RDMA = "rdma"
WIDEST, NARROWEST = 8, 20
"""Prefix of the range: the smallest range leaves 124 addresses for nodes in a subnet of RDMA."""
LONGEST_NAME = 63
"""Longest name of a network, a subnet and a firewall rule (Compute Engine, naming resources)."""
GOOGLES_ADDRESSES = 4
"""Addresses of a primary range that Google reserves (VPC documentation, subnets: the first two and
the last two)."""
PRIVATE = tuple(IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


@dataclass(frozen=True, slots=True)
class GpuSubnet:
    """The subnet of one interface."""

    interface: GpuInterface
    name: str
    cidr: str


@dataclass(frozen=True, slots=True)
class GpuNetwork:
    """One VPC and its subnets."""

    key: str
    """Part of the names of its resources: `vpc1`, `gvnic-1`, `rdma`."""
    name: str
    mtu: int | None
    """None: Google's default, or the profile's."""
    profile: str | None
    """Network profile, `us-central1-a-vpc-roce`; None for a common network."""
    subnets: tuple[GpuSubnet, ...]


def gpu_networks(spec: FleetSpec, pools: Iterable[Pool]) -> tuple[GpuNetwork, ...]:
    """The networks that a fleet creates; none if it uses those of the connection."""
    declared = spec.addons.gpu_direct.networks
    if declared is None:
        return ()
    prefix = google_prefix(spec.resource_prefix)
    front = f"{prefix}-" if prefix else ""
    ours = list(pools)
    found: dict[str, list[GpuSubnet]] = {}
    for interface in needed_networks(ours):
        key = RDMA if interface.device_mode == "RDMA" else interface.name
        cidr = str(interface_range(interface, IPv4Network(declared.cidr)))
        found.setdefault(key, []).append(GpuSubnet(interface, f"{front}{interface.name}", cidr))
    zones = sorted(rdma_zones(ours))
    return tuple(
        GpuNetwork(
            key=key,
            name=f"{front}{key}",
            mtu=JUMBO if key.startswith("vpc") else None,
            profile=f"{zones[0]}-vpc-roce" if key == RDMA and zones else None,
            subnets=tuple(subnets),
        )
        for key, subnets in found.items()
    )


def interface_range(interface: GpuInterface, whole: IPv4Network) -> IPv4Network:
    """An eighth of the first half for each of `vpc1` to `vpc8`, an eighth of the third quarter for
    each of `rdma-0` to `rdma-7`, the fourth quarter for `gvnic-1`."""
    first, second = whole.subnets(prefixlen_diff=1)
    third, fourth = second.subnets(prefixlen_diff=1)
    if interface.name.startswith("vpc"):
        return list(first.subnets(prefixlen_diff=3))[int(interface.name.removeprefix("vpc")) - 1]
    if interface.device_mode == "RDMA":
        number = int(interface.name.removeprefix("rdma-"))
        return list(third.subnets(prefixlen_diff=3))[number]
    return fourth


def rdma_zones(pools: Iterable[Pool]) -> set[str]:
    """Zones of pools with RDMA that the fleet creates."""
    shapes = [gke_shape(one) for one in pools if one.ownership is not Ownership.EXISTING]
    with_rdma = [shape for shape in shapes if any(n.device_mode == "RDMA" for n in shape.networks)]
    return {
        zone
        for shape in with_rdma
        for zone in (*shape.zones, *(step.zone for step in shape.steps))
        if zone is not None
    }


def network_arguments(network: GpuNetwork, project: str | None) -> dict[str, Any]:
    """Arguments of the VPC."""
    profile = network.profile and f"projects/{project}/global/networkProfiles/{network.profile}"
    return data_part(_FILE, "network", name=network.name, mtu=network.mtu, profile=profile)


def gpu_subnet_arguments(subnet: GpuSubnet, region: str) -> dict[str, Any]:
    """Arguments of a subnet, without its network."""
    return {"name": subnet.name, "region": region, "ipCidrRange": subnet.cidr}


def firewall_arguments(network: GpuNetwork) -> dict[str, Any] | None:
    """Arguments of the rule that allows traffic between machines of a network, without its network;
    None for a RoCE network, for which Google's module has none."""
    if network.profile is not None:
        return None
    ranges = [subnet.cidr for subnet in network.subnets]
    return data_part(_FILE, "firewall", name=network.name, ranges=ranges)


def refused_networks(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Properties of the networks, their subnets and firewall rules that the provider refuses."""
    if any(validate_gpu_networks(spec, pools)):
        return
    place = "addons.gpuDirect.networks"
    project, region = spec.cluster.project, spec.cluster.region or ""
    for network in gpu_networks(spec, pools):
        yield from refused_arguments(NETWORK, network_arguments(network, project), place)
        for subnet in network.subnets:
            yield from refused_arguments(SUBNETWORK, gpu_subnet_arguments(subnet, region), place)
        if (rule := firewall_arguments(network)) is not None:
            yield from refused_arguments(FIREWALL, rule, place)


def validate_gpu_networks(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Errors that prevent creating the networks."""
    declared, place = spec.addons.gpu_direct.networks, "addons.gpuDirect.networks"
    if declared is None:
        return
    refused = list(_validate_range(declared, place))
    yield from refused
    if not refused:
        networks = gpu_networks(spec, pools)
        yield from _validate_names(spec, networks)
        yield from _validate_sizes(declared, networks, pools)
    zones = sorted(rdma_zones(pools))
    made = [network for network in needed_networks(pools) if network.device_mode == "RDMA"]
    yield from _rules("gpu-networks", spec=spec, made=made, zones=zones)


def _validate_names(spec: FleetSpec, networks: Sequence[GpuNetwork]) -> Iterable[Finding]:
    """The longest name is that of a firewall rule."""
    rules = [rule["name"] for one in networks if (rule := firewall_arguments(one)) is not None]
    longest = max([*rules, *(one.name for one in networks)], key=len, default="")
    if len(longest) > LONGEST_NAME:
        prefix = google_prefix(spec.resource_prefix)
        place = "cluster.name" if spec.name_prefix is None else "namePrefix"
        room = LONGEST_NAME - len(longest) + len(prefix)
        yield from _rules("names-of-networks", place, longest=longest, size=len(longest), room=room)


def _validate_sizes(
    declared: GpuNetworks, networks: Sequence[GpuNetwork], pools: Sequence[Pool]
) -> Iterable[Finding]:
    """Each node has one address in the subnet of each of its interfaces, and pools share them."""
    short: list[tuple[int, GpuSubnet, list[Pool], int]] = []
    for subnet in (subnet for network in networks for subnet in network.subnets):
        users = [pool for pool in pools if subnet.interface in needed_networks([pool])]
        nodes = sum(pool.nodes.maximum for pool in users)
        bits = IPv4Network(subnet.cidr).max_prefixlen - IPv4Network(subnet.cidr).prefixlen
        missing = (nodes + GOOGLES_ADDRESSES - 1).bit_length() - bits
        if missing > 0:
            short.append((missing, subnet, users, nodes))
    if not short:
        return
    missing, subnet, users, nodes = max(short, key=lambda one: one[0])
    room = IPv4Network(subnet.cidr).num_addresses - GOOGLES_ADDRESSES
    prefix = IPv4Network(declared.cidr).prefixlen - missing
    wider = f"write a range of /{prefix} or wider, or lower" if prefix >= WIDEST else "lower"
    known = {"subnet": subnet, "room": room, "users": users, "nodes": nodes, "wider": wider}
    yield from _rules("size-of-networks", "", **known)


def _validate_range(declared: GpuNetworks, place: str) -> Iterable[Finding]:
    try:
        whole = IPv4Network(declared.cidr)
    except (AddressValueError, NetmaskValueError, ValueError):
        whole = None
    private = whole is not None and any(whole.subnet_of(one) for one in PRIVATE)
    if whole is None or not private or not WIDEST <= whole.prefixlen <= NARROWEST:
        yield _finding(
            "gke-gpu-networks-range", place, found=declared.cidr, widest=WIDEST, narrowest=NARROWEST
        )


def needed_networks(pools: Iterable[Pool]) -> tuple[GpuInterface, ...]:
    """All networks of the pools' nodes besides the first, in the order of their interfaces."""
    found: dict[GpuInterface, None] = {}
    for pool in pools:
        if pool.platform.name is Platform.GKE and pool.ownership is not Ownership.EXISTING:
            found |= dict.fromkeys(gke_shape(pool).networks)
    return tuple(found)


def validate_networks(
    needed: Sequence[GpuInterface], given: Mapping[str, Any]
) -> Iterator[Finding]:
    """Networks that the pools need and the connection lacks."""
    missing = [network.name for network in needed if network.name not in given]
    return _rules("connection", missing=missing)


def network_objects(network: GpuInterface, vpc: Any, subnet: Any) -> tuple[dict[str, Any], ...]:
    """The pair of objects for one network; `vpc` and `subnet` may be outputs."""
    named = {"name": network.name}
    parameters = {**named, "vpc": vpc, "subnet": subnet, "mode": network.device_mode}
    return data_part(_FILE, "parameters", **parameters), data_part(_FILE, "attachment", **named)
