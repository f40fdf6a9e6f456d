"""Contents of a platform's module `components`, and shared parts of these modules."""

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
"""Values of other resources: `GpuFleetConnectionArgs`, in the spelling of files."""


@dataclass(frozen=True, slots=True)
class OperatorResources:
    """The operators of one fleet."""

    made: list[pulumi.Resource] = field(default_factory=list[pulumi.Resource])
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    """Outputs of `GpuAddons` that come from them."""


@dataclass(frozen=True, kw_only=True)
class PlatformFleet:
    """A fleet that compiles, validated for its platform and rendered as far as possible."""

    fleet: Fleet
    findings: tuple[Finding, ...] = ()
    """Errors that prevent its deployment. Nothing may be created when one is an error."""
    pools: Mapping[str, PoolPlan] = field(default_factory=dict[str, PoolPlan])
    """Plan of each pool that gpufleet manages, by name."""
    makers: Mapping[type[PoolPlan], type[GpuPoolComponent[Any]]] = field(
        default_factory=dict[type[PoolPlan], type[GpuPoolComponent[Any]]]
    )
    """Plan -> the component that creates the nodes of such a pool."""

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """Create the pools' cluster-wide parts with `GpuAddons`; all pools depend on it."""
        del parent, name
        return []

    def nodes(
        self, name: str, pool: Pool, opts: pulumi.ResourceOptions
    ) -> pulumi.ComponentResource:
        """Create the component of the pool's nodes. gpufleet manages `pool`."""
        plan = self.pools[pool.name]
        return self.makers[type(plan)].from_plan(name, plan, opts)


class PlatformComponents(Protocol):
    """The resources of one platform."""

    def platform_fleet(self, fleet: Fleet, connection: Connection) -> PlatformFleet:
        """A fleet that compiles, validated for the platform: its findings contain everything that
        prevents its deployment."""
        ...

    def platform_operators(
        self, parent: pulumi.ComponentResource, name: str, fleet: Fleet
    ) -> OperatorResources:
        """Replacement of the operators' charts in `GpuAddons`; called only if the platform has a
        Lifecycle Manager."""
        ...

    def platform_charts(self) -> str:
        """Folder of the platform's own charts; called only if `PlatformFacts.own_charts`.
        Raises InvalidArgumentsError if they are not installed."""
        ...


def platform_components(platform: PlatformValue) -> PlatformComponents:
    """The resources of the platform. Imports the SDKs of its providers."""
    return cast("PlatformComponents", platform.module("components"))


def managed_pools(fleet: Fleet) -> list[Pool]:
    """The pools whose nodes gpufleet creates."""
    return [pool for pool in fleet.pools if pool.ownership is Ownership.MANAGED]


def connection_missing(key: str, message: str, fix: str) -> Finding:
    """The finding that a pool needs a missing part of the connection."""
    return error("connection-missing", f"connection.{key}", message, fix)
