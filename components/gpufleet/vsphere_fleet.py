"""The vSphere part of a fleet: the component of each pool."""

from collections.abc import Mapping
from typing import Any, cast

import pulumi

from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool
from gpufleet.nodes.vsphere_group import VsphereGpuNodeGroup, VsphereGpuNodeGroupArgs
from gpufleet.spec.base import Ownership


def judge_platform(fleet: Fleet, connection: Mapping[str, Any]) -> list[Finding]:
    """What stands in the way of deploying a fleet that compiles."""
    managed = any(pool.ownership is Ownership.MANAGED for pool in fleet.pools)
    if not managed or connection.get("vsphere") is not None:
        return []
    return [
        error(
            "connection-missing",
            "connection.vsphere",
            "pools on vSphere need a vCenter: server, datacenter, computeCluster",
            "give it beside the spec",
        )
    ]


def platform_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Mapping[str, Any]
) -> list[pulumi.Resource]:
    """What the pools need once per cluster beside `GpuAddons`: nothing."""
    del parent, name, fleet, connection
    return []


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> VsphereGpuNodeGroup:
    """The component that makes the pool's machines."""
    arguments = {
        "catalogue": fleet.spec.catalogue,
        "pool": pool.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True),
        "connection": connection["vsphere"],
        "name_prefix": fleet.spec.name_prefix or fleet.spec.cluster.name,
    }
    return VsphereGpuNodeGroup(
        name, cast("VsphereGpuNodeGroupArgs", arguments), opts, compiled=pool
    )
