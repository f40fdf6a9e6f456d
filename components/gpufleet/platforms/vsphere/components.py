"""The vSphere part of a fleet: the component of each pool."""

from typing import cast

import pulumi

from gpufleet.components_base.component_host import is_component_host
from gpufleet.components_base.platform_components import (
    Connection,
    connection_missing,
    no_charts,
    no_operators,
    no_parts,
    pool_arguments,
)
from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.vsphere.node_group import VsphereGpuNodeGroup, VsphereGpuNodeGroupArgs
from gpufleet.spec.base import Ownership

platform_parts = no_parts
platform_operators = no_operators
platform_charts = no_charts


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying a fleet that compiles."""
    managed = any(pool.ownership is Ownership.MANAGED for pool in fleet.pools)
    if managed and is_component_host():
        return [
            error(
                "vsphere-needs-python",
                "platform",
                "machines on vSphere are made by a Python dynamic provider, which the engine "
                "cannot run for a program that uses gpufleet as a package of components",
                "write this stack's program in Python, or make the machines elsewhere and declare "
                "the pools with `ownership: existing`",
            )
        ]
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
