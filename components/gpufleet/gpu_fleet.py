"""GpuFleet: a whole FleetSpec as one component."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.addons.gpu_addons import GpuAddons, GpuAddonsArgs
from gpufleet.arguments import GpuPoolArgs
from gpufleet.findings import Finding, Severity, error, has_errors, ordered
from gpufleet.fleet import (
    Compiled,
    Fleet,
    Pool,
    SpendBounds,
    Unbounded,
    compile_data,
    fleet_as_dict,
)
from gpufleet.fleet.model import Money
from gpufleet.inputs import declared, refuse, whole_numbers
from gpufleet.nodes.simulated import SimulatedGpuNodePool, SimulatedGpuNodePoolArgs
from gpufleet.spec.base import Ownership, Platform

SUPPORTED = (Platform.SANDBOX,)
"""Platforms whose nodes this version can make. The others compile, render and are judged."""


class GpuFleetConnectionArgs(TypedDict):
    """What other resources produce and a fleet is wired to."""

    cluster_name: NotRequired[pulumi.Input[str]]
    """Cluster the nodes join, as the resource that makes it reports it; nodes wait for it.
    Default: `cluster.name` of the spec."""


class GpuFleetArgs(TypedDict):
    """Inputs of `GpuFleet`."""

    spec: dict[str, Any]
    """The FleetSpec, plain data in the spelling of the file (camelCase). An Output inside it is an
    error: what is not known before deployment belongs into `connection`."""
    connection: NotRequired[GpuFleetConnectionArgs]
    """What other resources produce. Default: nothing."""


@dataclass(frozen=True, slots=True)
class FleetPool:
    """One pool of a deployed fleet."""

    name: str
    spec: GpuPoolArgs
    """Its declaration, to hand on to other components."""
    nodes: pulumi.ComponentResource | None
    """The component that made its nodes; None for pools that somebody else makes."""


class GpuFleet(pulumi.ComponentResource):
    """A GPU fleet from one declaration: the cluster's add-ons and every pool.

    The spec is compiled before anything is registered. Errors end the program with all of them in
    one text; warnings are shown. What was compiled is registered as the component's own
    properties, `fleet` and `findings`, so that a policy judges the whole fleet before any child
    exists.
    """

    advertised: pulumi.Output[dict[str, dict[str, int]]]
    """Pool -> extended resources that each of its nodes publishes."""
    minimum_usd_per_hour: pulumi.Output[str | None]
    """All pools at their smallest size, bought the cheapest way they allow. Absent when no number
    bounds it."""
    expected_usd_per_hour: pulumi.Output[str | None]
    """All pools at their expected size, bought as they prefer. Absent when not known."""
    maximum_usd_per_hour: pulumi.Output[str | None]
    """All pools at their largest size, bought the dearest way they allow. Absent when no number
    bounds it."""
    unbounded_spend: pulumi.Output[list[str]]
    """Why a bound is absent, a sentence for each cause; empty when all are there."""
    cluster_name: pulumi.Output[str]
    """Name of the cluster."""

    def __init__(
        self, name: str, args: GpuFleetArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make the fleet.

        Args:
            name: Name of the component, unique in its stack.
            args: Declaration and connection.
            opts: Options; `providers` must hold the providers of platform and cluster. The fleet
                builds none and never uses the ambient ones.

        Raises:
            InvalidArgumentsError: the declaration has an error; the text holds all of them.
        """
        component = f'GpuFleet "{name}"'
        given = declared(component, GpuFleetArgs, cast("dict[str, Any]", args))
        compiled = compile_data(whole_numbers(given["spec"]))
        fleet = _deployable(component, compiled)
        super().__init__(
            "gpufleet:index:GpuFleet",
            name,
            {
                "fleet": fleet_as_dict(fleet),
                "findings": [finding.as_dict() for finding in compiled.findings],
            },
            opts,
        )
        self._warn(compiled.findings)
        connection = args.get("connection", {})
        addons = GpuAddons(
            f"{name}-addons",
            cast(
                "GpuAddonsArgs",
                {
                    "catalogue": fleet.spec.catalogue,
                    "platform": fleet.spec.platform.value,
                    "pools": [_pool_args(pool) for pool in fleet.pools],
                },
            ),
            pulumi.ResourceOptions(parent=self),
            compiled=fleet,
        )
        self._pools = {
            pool.name: self._nodes(name, pool, fleet, addons, connection) for pool in fleet.pools
        }
        self.advertised = pulumi.Output.from_input(
            {pool.name: dict(pool.advertised) for pool in fleet.pools}
        )
        spend = fleet.spend
        self.minimum_usd_per_hour = _usd(spend, spend.minimum)
        self.expected_usd_per_hour = _usd(spend, spend.expected)
        self.maximum_usd_per_hour = _usd(spend, spend.maximum)
        self.unbounded_spend = pulumi.Output.from_input(_unbounded(spend))
        self.cluster_name = pulumi.Output.from_input(
            connection.get("cluster_name", fleet.spec.cluster.name)
        )
        self.register_outputs(
            {
                "advertised": self.advertised,
                "minimumUsdPerHour": self.minimum_usd_per_hour,
                "expectedUsdPerHour": self.expected_usd_per_hour,
                "maximumUsdPerHour": self.maximum_usd_per_hour,
                "unboundedSpend": self.unbounded_spend,
                "clusterName": self.cluster_name,
            }
        )

    def pool(self, name: str) -> FleetPool:
        """The pool of that name. Raises KeyError with the names there are."""
        try:
            return self._pools[name]
        except KeyError:
            raise KeyError(f"no pool {name!r}; there is {', '.join(self._pools)}") from None

    def _warn(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if finding.severity is Severity.WARNING:
                pulumi.log.warn(str(finding).removeprefix("warning "), self)

    def _nodes(
        self,
        name: str,
        pool: Pool,
        fleet: Fleet,
        addons: GpuAddons,
        connection: GpuFleetConnectionArgs,
    ) -> FleetPool:
        """Make the pool's nodes with the component of its platform."""
        spec = _pool_args(pool)
        if pool.ownership is not Ownership.MANAGED:
            return FleetPool(pool.name, spec, None)
        nodes = SimulatedGpuNodePool(
            f"{name}-{pool.name}",
            cast(
                "SimulatedGpuNodePoolArgs",
                {
                    "catalogue": fleet.spec.catalogue,
                    "pool": spec,
                    "name_prefix": fleet.spec.name_prefix or fleet.spec.cluster.name,
                    "region": fleet.spec.cluster.region or "sandbox",
                    **connection,
                },
            ),
            # Labels name configurations: the operator must have them before a node shows up.
            pulumi.ResourceOptions(parent=self, depends_on=[addons]),
            compiled=pool,
        )
        return FleetPool(pool.name, spec, nodes)


def _deployable(component: str, compiled: Compiled) -> Fleet:
    """The fleet, or one error with every finding."""
    findings = list(compiled.findings)
    fleet = compiled.fleet
    if fleet is not None and fleet.spec.platform not in SUPPORTED:
        findings.append(
            error(
                "platform-not-yet-supported",
                "platform",
                f"this version makes nodes on {', '.join(SUPPORTED)} only, and the fleet is for "
                f"{fleet.spec.platform.value}",
                "until then `gpufleet compile`, `explain` and the policies judge such a fleet",
                found=fleet.spec.platform.value,
                allowed=[platform.value for platform in SUPPORTED],
            )
        )
    if fleet is None or has_errors(findings):
        refuse(component, ordered(findings))
    return fleet


def _pool_args(pool: Pool) -> GpuPoolArgs:
    """The pool's declaration as components take it: only what its author wrote."""
    plain = pool.spec.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return cast("GpuPoolArgs", plain)


def _usd(spend: SpendBounds, bound: Money) -> pulumi.Output[str | None]:
    amount = spend.usd(bound)
    return pulumi.Output.from_input(None if amount is None else format(amount.normalize(), "f"))


def _unbounded(spend: SpendBounds) -> list[str]:
    bounds = (spend.minimum, spend.expected, spend.maximum)
    causes = [cause for b in bounds if isinstance(b, Unbounded) for cause in b.causes]
    return list(dict.fromkeys(causes))
