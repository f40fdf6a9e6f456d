"""The vSphere part of a fleet: the component of each pool."""

from gpufleet.components_base.component import PoolPlan
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    connection_missing,
    managed_pools,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet
from gpufleet.platforms.vsphere.node_group import (
    VsphereGpuNodeGroup,
    VsphereGroupPlan,
    vsphere_group_plan,
)


def platform_fleet(fleet: Fleet, connection: Connection) -> PlatformFleet:
    """The fleet, with each pool validated."""
    managed, vcenter = managed_pools(fleet), connection.get("vsphere")
    findings: list[Finding] = []
    pools: dict[str, PoolPlan] = {}
    if managed and vcenter is None:
        needed = "pools on vSphere need a vCenter: server, datacenter, computeCluster"
        findings.append(connection_missing("vsphere", needed, "pass it in `connection`"))
    elif vcenter is not None:
        for pool in managed:
            pools[pool.name], found = vsphere_group_plan(pool, fleet.spec.resource_prefix, vcenter)
            findings += found
    return PlatformFleet(
        fleet=fleet,
        findings=tuple(findings),
        pools=pools,
        makers={VsphereGroupPlan: VsphereGpuNodeGroup},
    )
