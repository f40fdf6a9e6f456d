"""The sandbox part of a fleet: simulated nodes."""

from gpufleet.catalogue import load
from gpufleet.components_base.component import PoolPlan
from gpufleet.components_base.inputs import refuse
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    managed_pools,
)
from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet
from gpufleet.platforms.sandbox.node_pool import (
    DEFAULT,
    SimulatedGpuNodePool,
    SimulatedPoolPlan,
    simulated_pool_plan,
)
from gpufleet.sandbox_distribution import CHARTS, SandboxUnavailableError, sandbox_part


def platform_charts() -> str:
    """The charts that simulate the real ones, from gpufleet-sandbox."""
    try:
        return str(sandbox_part(CHARTS)())
    except SandboxUnavailableError as reason:
        path = "addons.charts.source"
        fix = "install it in the environment of the program, or name a folder of charts"
        refuse("Simulator charts", [error("sandbox-charts-missing", path, str(reason), fix)])


def platform_fleet(fleet: Fleet, connection: Connection) -> PlatformFleet:
    """The fleet, with the nodes of each pool."""
    spec = fleet.spec
    catalogue = load(spec.catalogue, overlay=spec.catalogue_overlay)
    region = spec.cluster.region or DEFAULT
    findings: list[Finding] = []
    pools: dict[str, PoolPlan] = {}
    for pool in managed_pools(fleet):
        pools[pool.name], found = simulated_pool_plan(
            pool, catalogue, fleet.spec.resource_prefix, region, connection.get("clusterName")
        )
        findings += found
    return PlatformFleet(
        fleet=fleet,
        findings=tuple(findings),
        pools=pools,
        makers={SimulatedPoolPlan: SimulatedGpuNodePool},
    )
