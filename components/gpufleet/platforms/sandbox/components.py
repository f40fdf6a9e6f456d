"""The sandbox part of a fleet: simulated nodes."""

from typing import cast

import pulumi

from gpufleet.components_base.inputs import refuse
from gpufleet.components_base.platform_components import (
    Connection,
    no_operators,
    no_parts,
    pool_arguments,
)
from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.sandbox.node_pool import SimulatedGpuNodePool, SimulatedGpuNodePoolArgs
from gpufleet.sandbox_distribution import CHARTS, SandboxUnavailableError, sandbox_part

platform_parts = no_parts
platform_operators = no_operators


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying: nothing."""
    del fleet, connection
    return []


def platform_charts() -> str:
    """The charts that play the real ones, which gpufleet-sandbox brings."""
    try:
        return str(sandbox_part(CHARTS)())
    except SandboxUnavailableError as reason:
        path = "addons.charts.source"
        fix = "install it where the program runs, or name a folder of charts"
        refuse("Simulator charts", [error("sandbox-charts-missing", path, str(reason), fix)])


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
