"""The sandbox part of a fleet: simulated nodes."""

from typing import cast

import pulumi

from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.registry import Connection, no_parts, pool_arguments
from gpufleet.platforms.sandbox.node_pool import SimulatedGpuNodePool, SimulatedGpuNodePoolArgs

platform_parts = no_parts


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying: nothing."""
    del fleet, connection
    return []


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> SimulatedGpuNodePool:
    """The component that makes the pool's nodes."""
    arguments = pool_arguments(fleet, pool)
    arguments["region"] = fleet.spec.cluster.region or "sandbox"
    if "cluster_name" in connection:
        arguments["cluster_name"] = connection["cluster_name"]
    return SimulatedGpuNodePool(
        name, cast("SimulatedGpuNodePoolArgs", arguments), opts, compiled=pool
    )
