"""Platforms whose nodes a fleet can make: one table, and what every one of them has."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

import pulumi

from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool
from gpufleet.spec.base import Platform

Connection = Mapping[str, Any]
"""What other resources produce, `GpuFleetConnectionArgs`."""

MODULES = {
    Platform.SANDBOX: "gpufleet.platforms.sandbox.components",
    Platform.EKS: "gpufleet.platforms.eks.components",
    Platform.GKE: "gpufleet.platforms.gke.components",
    Platform.VSPHERE: "gpufleet.platforms.vsphere.components",
    Platform.OPENSHIFT: "gpufleet.platforms.openshift.components",
}
"""The module of each platform, a `FleetPlatform`, imported when a fleet is for it: a program pays
only for the provider SDKs it uses."""


class FleetPlatform(Protocol):
    """What a platform's module defines."""

    def judge_platform(self, fleet: Fleet, connection: Connection) -> list[Finding]:
        """What stands in the way of deploying a fleet that compiles."""
        ...

    def platform_parts(
        self, parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
    ) -> list[pulumi.Resource]:
        """What the pools need once per cluster beside `GpuAddons`; all pools depend on it."""
        ...

    def platform_pool(
        self,
        name: str,
        pool: Pool,
        fleet: Fleet,
        connection: Connection,
        opts: pulumi.ResourceOptions,
    ) -> pulumi.ComponentResource:
        """The component that makes the pool's nodes."""
        ...


def platform_of(fleet: Fleet) -> FleetPlatform:
    """The module of the fleet's platform."""
    return cast("FleetPlatform", import_module(MODULES[fleet.spec.platform]))


def no_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
) -> list[pulumi.Resource]:
    """`platform_parts` of a platform whose pools need nothing once per cluster."""
    del parent, name, fleet, connection
    return []


def connection_missing(key: str, message: str, fix: str) -> Finding:
    """That a pool cannot be made without a part of the connection."""
    return error("connection-missing", f"connection.{key}", message, fix)


def pool_arguments(fleet: Fleet, pool: Pool) -> dict[str, Any]:
    """The arguments that the component of a pool takes on every platform."""
    return {
        "catalogue": fleet.spec.catalogue,
        "pool": pool.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True),
        "name_prefix": name_prefix(fleet),
    }


def name_prefix(fleet: Fleet) -> str:
    """First part of the names of what the fleet makes."""
    return fleet.spec.name_prefix or fleet.spec.cluster.name
