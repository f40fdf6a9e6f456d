"""The sandbox part of a fleet: simulated nodes."""

from collections.abc import Mapping
from typing import Any, cast

import pulumi

from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.nodes.simulated import SimulatedGpuNodePool, SimulatedGpuNodePoolArgs


def judge_platform(fleet: Fleet, connection: Mapping[str, Any]) -> list[Finding]:
    """What stands in the way of deploying: nothing."""
    del fleet, connection
    return []


def platform_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Mapping[str, Any]
) -> list[pulumi.Resource]:
    """What the pools need once per cluster beside `GpuAddons`: nothing."""
    del parent, name, fleet, connection
    return []


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> SimulatedGpuNodePool:
    """The component that makes the pool's nodes."""
    arguments = {
        "catalogue": fleet.spec.catalogue,
        "pool": pool.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True),
        "name_prefix": fleet.spec.name_prefix or fleet.spec.cluster.name,
        "region": fleet.spec.cluster.region or "sandbox",
    }
    if "cluster_name" in connection:
        arguments["cluster_name"] = connection["cluster_name"]
    return SimulatedGpuNodePool(
        name, cast("SimulatedGpuNodePoolArgs", arguments), opts, compiled=pool
    )
