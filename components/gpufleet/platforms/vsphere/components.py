"""The vSphere part of a fleet: the component of each pool."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    connection_missing,
    managed_pools,
    name_prefix,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.vsphere.node_group import (
    VsphereGpuNodeGroup,
    VsphereGroupPlan,
    vsphere_group_plan,
)


@dataclass(frozen=True, kw_only=True)
class VsphereFleet(PlatformFleet):
    """A fleet on vSphere."""

    pools: Mapping[str, VsphereGroupPlan]
    """Of each pool that gpufleet manages, by name."""

    def nodes(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> VsphereGpuNodeGroup:
        """The component that makes the pool's machines."""
        return VsphereGpuNodeGroup.from_plan(name, self.pools[pool.name], opts)


def platform_fleet(fleet: Fleet, connection: Connection) -> VsphereFleet:
    """The fleet, with each pool validated."""
    managed, vcenter = managed_pools(fleet), connection.get("vsphere")
    findings: list[Finding] = []
    pools: dict[str, VsphereGroupPlan] = {}
    if managed and vcenter is None:
        needed = "pools on vSphere need a vCenter: server, datacenter, computeCluster"
        findings.append(connection_missing("vsphere", needed, "pass it besides the spec"))
    elif vcenter is not None:
        for pool in managed:
            pools[pool.name], found = vsphere_group_plan(pool, name_prefix(fleet), vcenter)
            findings += found
    return VsphereFleet(fleet=fleet, findings=tuple(findings), pools=pools)
