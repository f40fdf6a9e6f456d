"""The vSphere part of a fleet: the component of each pool."""

from typing import cast

import pulumi

from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.nodes.vsphere_group import VsphereGpuNodeGroup, VsphereGpuNodeGroupArgs
from gpufleet.platforms import Connection, connection_missing, no_parts, pool_arguments
from gpufleet.spec.base import Ownership

platform_parts = no_parts


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying a fleet that compiles."""
    managed = any(pool.ownership is Ownership.MANAGED for pool in fleet.pools)
    if not managed or connection.get("vsphere") is not None:
        return []
    needed = "pools on vSphere need a vCenter: server, datacenter, computeCluster"
    return [connection_missing("vsphere", needed, "give it beside the spec")]


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> VsphereGpuNodeGroup:
    """The component that makes the pool's machines."""
    arguments = {**pool_arguments(fleet, pool), "connection": connection["vsphere"]}
    return VsphereGpuNodeGroup(
        name, cast("VsphereGpuNodeGroupArgs", arguments), opts, compiled=pool
    )
