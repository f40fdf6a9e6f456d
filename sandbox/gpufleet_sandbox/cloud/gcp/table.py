"""Which kind handles which type of resource."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpufleet_sandbox.cloud.gcp import node_pools, project

if TYPE_CHECKING:
    from gpufleet_sandbox.cloud.gcp.provider import GcpCloud
    from gpufleet_sandbox.cloud.sdk import ResourceType


def kinds() -> Mapping[str, Callable[["GcpCloud", "ResourceType"], project.GcpPlainKind]]:
    """Type -> its kind. Types that are not here are checked and kept."""
    return {
        project.SERVICE: project.ServiceKind,
        project.NETWORK: project.NetworkKind,
        project.SUBNETWORK: project.SubnetworkKind,
        project.ROUTER: project.RouterKind,
        project.ROUTER_NAT: project.RouterNatKind,
        project.ACCOUNT: project.AccountKind,
        project.MEMBER: project.MemberKind,
        project.CLUSTER: project.ClusterKind,
        node_pools.NODE_POOL: node_pools.NodePoolKind,
    }
