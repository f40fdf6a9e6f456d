"""What a platform's module `components` defines, and what those modules have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import pulumi

from gpufleet.components_base.component import GpuPoolComponent, PoolPlan
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, error
from gpufleet.fleet import Fleet, Pool
from gpufleet.spec.base import Ownership

Connection = Mapping[str, Any]
"""What other resources produce: `GpuFleetConnectionArgs`, in the spelling of files."""


@dataclass(frozen=True, slots=True)
class OperatorResources:
    """The operators of one fleet."""

    made: list[pulumi.Resource] = field(default_factory=list[pulumi.Resource])
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Outputs of `GpuAddons` that come from them."""


@dataclass(frozen=True, kw_only=True)
class PlatformFleet:
    """A fleet that compiles, validated for its platform and rendered as far as it can be."""

    fleet: Fleet
    findings: tuple[Finding, ...] = ()
    """What prevents deploying it. Nothing may be made when one is an error."""
    pools: Mapping[str, PoolPlan] = field(default_factory=dict[str, PoolPlan])
    """Of each pool that gpufleet manages, by name."""
    makers: Mapping[type[PoolPlan], type[GpuPoolComponent[Any]]] = field(
        default_factory=dict[type[PoolPlan], type[GpuPoolComponent[Any]]]
    )
    """Plan -> the component that makes the nodes of such a pool."""

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """Make what the pools need once per cluster with `GpuAddons`; all pools depend on it."""
        del parent, name
        return []

    def nodes(
        self, name: str, pool: Pool, opts: pulumi.ResourceOptions
    ) -> pulumi.ComponentResource:
        """Make the component of the pool's nodes. `pool` is one that gpufleet manages."""
        plan = self.pools[pool.name]
        return self.makers[type(plan)].from_plan(name, plan, opts)


class PlatformComponents(Protocol):
    """The resources of one platform."""

    def platform_fleet(self, fleet: Fleet, connection: Connection) -> PlatformFleet:
        """A fleet that compiles, validated for the platform: everything that prevents deploying it
        is among its findings."""
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


def platform_components(platform: PlatformValue) -> PlatformComponents:
    """The resources of the platform. Imports the SDKs of its providers."""
    return cast("PlatformComponents", platform.module("components"))


def managed_pools(fleet: Fleet) -> list[Pool]:
    """The pools whose nodes gpufleet makes."""
    return [pool for pool in fleet.pools if pool.ownership is Ownership.MANAGED]


def connection_missing(key: str, message: str, fix: str) -> Finding:
    """That a pool cannot be made without a part of the connection."""
    return error("connection-missing", f"connection.{key}", message, fix)
