"""Kubernetes objects that let pods use a GPU machine's extra network interfaces.

For each network one GKENetworkParamSet, which names VPC and subnet, and one Network, which pods
name (GoogleCloudPlatform/cluster-toolkit 1047080 and GKE documentation, multi-networking; read
2026-11-21). They exist once per cluster, whichever pools use them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.shape import GpuInterface, gke_shape
from gpufleet.spec.base import Ownership, Platform

_finding = findings_in(__file__)

API_VERSION = "networking.gke.io/v1"


def needed_networks(pools: Iterable[Pool]) -> tuple[GpuInterface, ...]:
    """Every network some pool's nodes have next to the first, in the order of their interfaces."""
    found: dict[GpuInterface, None] = {}
    for pool in pools:
        if pool.platform.name is Platform.GKE and pool.ownership is not Ownership.EXISTING:
            found |= dict.fromkeys(gke_shape(pool).networks)
    return tuple(found)


def validate_networks(
    needed: Sequence[GpuInterface], given: Mapping[str, Any]
) -> Iterator[Finding]:
    """Networks that the pools need and the connection does not have."""
    missing = [network.name for network in needed if network.name not in given]
    if not missing:
        return
    yield _finding(
        "connection-missing",
        fix=(
            "give `gpuNetworks: {" + missing[0] + ": {network: ..., subnetwork: ...}, ...}`, write "
            "`addons: {gpuDirect: {networks: {}}}` to have them made, or "
            "`gke: {acceleratorNetworkProfile: auto}` on the pool"
        ),
        missing=missing,
    )


def network_objects(network: GpuInterface, vpc: Any, subnet: Any) -> tuple[dict[str, Any], ...]:
    """The pair of objects for one network; `vpc` and `subnet` may be outputs."""
    return (
        {
            "apiVersion": API_VERSION,
            "kind": "GKENetworkParamSet",
            "metadata": {"name": network.name},
            "spec": {"vpc": vpc, "vpcSubnet": subnet, "deviceMode": network.device_mode},
        },
        {
            "apiVersion": API_VERSION,
            "kind": "Network",
            "metadata": {"name": network.name},
            "spec": {
                "type": "Device",
                "parametersRef": {
                    "group": "networking.gke.io",
                    "kind": "GKENetworkParamSet",
                    "name": network.name,
                },
            },
        },
    )
