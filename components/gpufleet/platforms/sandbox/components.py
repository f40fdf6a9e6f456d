"""The sandbox part of a fleet: simulated nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpufleet.catalogue import load
from gpufleet.components_base.inputs import refuse
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    managed_pools,
    name_prefix,
)
from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.sandbox.node_pool import (
    DEFAULT,
    SimulatedGpuNodePool,
    SimulatedPoolPlan,
    simulated_pool_plan,
)
from gpufleet.sandbox_distribution import CHARTS, SandboxUnavailableError, sandbox_part


@dataclass(frozen=True, kw_only=True)
class SandboxFleet(PlatformFleet):
    """A fleet of simulated nodes."""

    pools: Mapping[str, SimulatedPoolPlan]
    """Of each pool that gpufleet manages, by name."""

    def nodes(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> SimulatedGpuNodePool:
        """The component that makes the pool's nodes."""
        return SimulatedGpuNodePool.from_plan(name, self.pools[pool.name], opts)


def platform_charts() -> str:
    """The charts that play the real ones, which gpufleet-sandbox brings."""
    try:
        return str(sandbox_part(CHARTS)())
    except SandboxUnavailableError as reason:
        path = "addons.charts.source"
        fix = "install it where the program runs, or name a folder of charts"
        refuse("Simulator charts", [error("sandbox-charts-missing", path, str(reason), fix)])


def platform_fleet(fleet: Fleet, connection: Connection) -> SandboxFleet:
    """The fleet, with the nodes of each pool."""
    spec = fleet.spec
    catalogue = load(spec.catalogue, overlay=spec.catalogue_overlay)
    region = spec.cluster.region or DEFAULT
    findings: list[Finding] = []
    pools: dict[str, SimulatedPoolPlan] = {}
    for pool in managed_pools(fleet):
        pools[pool.name], found = simulated_pool_plan(
            pool, catalogue, name_prefix(fleet), region, connection.get("clusterName")
        )
        findings += found
    return SandboxFleet(fleet=fleet, findings=tuple(findings), pools=pools)
