"""What a platform's module `components` defines, and what those modules have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pulumi

from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool

Connection = Mapping[str, Any]
"""What other resources produce, `GpuFleetConnectionArgs`."""


@dataclass(frozen=True, slots=True)
class OperatorResources:
    """The operators of one fleet."""

    made: list[pulumi.Resource] = field(default_factory=list[pulumi.Resource])
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Outputs of `GpuAddons` that come from them."""


class PlatformComponents(Protocol):
    """The resources of one platform."""

    def judge_platform(self, fleet: Fleet, connection: Connection) -> list[Finding]:
        """What stands in the way of deploying a fleet that compiles."""
        ...

    def platform_parts(
        self, parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
    ) -> list[pulumi.Resource]:
        """What the pools need once per cluster beside `GpuAddons`; all pools depend on it."""
        ...

    def platform_operators(
        self, parent: pulumi.ComponentResource, name: str, fleet: Fleet
    ) -> OperatorResources:
        """What `GpuAddons` makes instead of the operators' charts; asked only where the platform
        has a Lifecycle Manager."""
        ...

    def platform_charts(self) -> str:
        """Folder of the platform's own charts; asked only where `PlatformFacts.own_charts`.
        Raises InvalidArgumentsError where they are not installed."""
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


def no_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
) -> list[pulumi.Resource]:
    """`platform_parts` of a platform whose pools need nothing once per cluster."""
    del parent, name, fleet, connection
    return []


def no_operators(parent: pulumi.ComponentResource, name: str, fleet: Fleet) -> OperatorResources:
    """`platform_operators` of a platform whose operators come by their charts."""
    del parent, name, fleet
    return OperatorResources()


def no_charts() -> str:
    """`platform_charts` of a platform whose charts come from the vendors."""
    raise NotImplementedError


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
