"""GpuFleet: a whole FleetSpec as one component."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pulumi

from gpufleet.addons.gpu_addons import GpuAddons
from gpufleet.arguments import GpuPoolArgs
from gpufleet.arguments.connections import GpuFleetConnectionArgs
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import (
    FleetPlan,
    GpuComponent,
    Options,
    pool_arguments,
    warning_texts,
)
from gpufleet.components_base.inputs import declared, looked_at, refuse
from gpufleet.components_base.platform_components import (
    Connection,
    PlatformFleet,
    platform_components,
)
from gpufleet.findings import Finding, has_errors, ordered
from gpufleet.fleet import Fleet, SpendBounds, Unbounded, fleet_as_dict
from gpufleet.fleet.model import Money
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.render.idle import idle_objects
from gpufleet.render.kueue_rules import validate_queues
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.spelling import spelled_as_files

if TYPE_CHECKING:
    from gpufleet.arguments.spelled_as_files.fleet_spec import FleetSpecArgs as Declaration
else:
    Declaration = dict[str, Any]  # the component host shows other languages a plain object


class GpuFleetArgs(TypedDict):
    """Inputs of `GpuFleet`."""

    spec: Declaration
    """The FleetSpec, plain data, in the spelling of files (camelCase), which type checkers know, or
    in that of Python. An Output inside it is an error: values that are not known before deployment
    belong in `connection`."""
    connection: NotRequired[GpuFleetConnectionArgs]
    """Values of other resources. Default: none."""
    policy_exceptions: NotRequired[dict[str, str]]
    """Rules of the policy pack that this fleet may violate: rule -> `<reason>; until=YYYY-MM-DD`.
    The pack reports entries that are not valid. Default: none."""


@dataclass(frozen=True, slots=True)
class FleetPool:
    """One pool of a deployed fleet."""

    name: str
    spec: GpuPoolArgs
    """Its declaration, for use with other components."""
    nodes: pulumi.ComponentResource | None
    """The component that created its nodes; None for pools whose nodes gpufleet does not create."""


@dataclass(frozen=True, kw_only=True)
class GpuFleetPlan(FleetPlan):
    """A fleet that can be deployed."""

    findings: tuple[Finding, ...]
    """Findings of the compilation."""
    platform: PlatformFleet
    cluster_name: pulumi.Input[str]
    exceptions: Mapping[str, str]
    """Rules of the policy pack that the fleet may violate -> reason and end date."""


class GpuFleet(GpuComponent[GpuFleetPlan]):
    """A GPU fleet from one declaration: the cluster's add-ons and every pool.

    The spec is compiled before any resource is registered. If it has errors, one exception lists
    all of them; warnings are printed. The compiled fleet is registered as the component's own
    properties, `fleet` and `findings`, so that a policy can validate the whole fleet before any
    child exists.
    """

    advertised: pulumi.Output[dict[str, dict[str, int]]]
    """Pool -> extended resources that each of its nodes publishes."""
    minimum_usd_per_hour: pulumi.Output[str | None]
    """Cost of all pools at their minimum size and the lowest price of their capacity types. Absent
    when it has no lower bound."""
    expected_usd_per_hour: pulumi.Output[str | None]
    """Cost of all pools at their expected size and preferred capacity type. Absent when unknown."""
    maximum_usd_per_hour: pulumi.Output[str | None]
    """Cost of all pools at their maximum size and the highest price of their capacity types. Absent
    when it has no upper bound."""
    unbounded_spend: pulumi.Output[list[str]]
    """Why a bound is absent, one sentence for each cause; empty when all bounds are known."""
    cluster_name: pulumi.Output[str]
    """Name of the cluster."""

    def __init__(self, name: str, args: GpuFleetArgs, opts: Options = None) -> None:
        """`providers` must contain the providers of the platform and the cluster: the fleet creates
        none and never uses the default ones."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _properties(self, plan: GpuFleetPlan) -> dict[str, Any]:
        exceptions = {"policyExceptions": plan.exceptions} if plan.exceptions else {}
        return {
            "fleet": fleet_as_dict(plan.fleet),
            "findings": [finding.as_dict() for finding in plan.findings],
            **exceptions,
        }

    def _make(self, name: str, plan: GpuFleetPlan) -> Mapping[str, object]:
        fleet, platform = plan.fleet, plan.platform
        below = pulumi.ResourceOptions(parent=self)
        addons = GpuAddons.from_plan(f"{name}-addons", FleetPlan(fleet=fleet), below)
        self._queues(f"{name}-queues", fleet, below)
        self._monitoring(f"{name}-monitoring", fleet, below)
        by_gitops = fleet.spec.addons.keda.ownership is Ownership.GITOPS
        for document in () if by_gitops else idle_objects(fleet):
            # The custom resource definition must exist.
            after = pulumi.ResourceOptions(parent=self, depends_on=[addons])
            of = document["metadata"]
            ManifestObject(f"{name}-idle-{of['namespace']}-{of['name']}", document, after)
        parts = platform.parts(self, name)
        # Labels name configurations: the operator must have them before a node registers.
        opts = pulumi.ResourceOptions(parent=self, depends_on=[addons, *parts])
        self._pools: dict[str, FleetPool] = {}
        for pool in fleet.pools:
            nodes = None
            if pool.ownership is Ownership.MANAGED:
                called = f"{name}-{pool.name}"
                nodes = platform.nodes(called, pool, opts)
            self._pools[pool.name] = FleetPool(pool.name, pool_arguments(pool), nodes)
        self._acceptance(f"{name}-acceptance", fleet, [addons, *parts])
        spend = fleet.spend
        return {
            "advertised": {pool.name: dict(pool.advertised) for pool in fleet.pools},
            "minimum_usd_per_hour": _usd(spend, spend.minimum),
            "expected_usd_per_hour": _usd(spend, spend.expected),
            "maximum_usd_per_hour": _usd(spend, spend.maximum),
            "unbounded_spend": _unbounded(spend),
            "cluster_name": pulumi.Output.from_input(plan.cluster_name),
        }

    def pool(self, name: str) -> FleetPool:
        """The pool with this name. Raises KeyError with the names of the existing pools."""
        try:
            return self._pools[name]
        except KeyError:
            raise KeyError(f"no pool {name!r}; the pools are {', '.join(self._pools)}") from None

    def _monitoring(self, name: str, fleet: Fleet, opts: pulumi.ResourceOptions) -> None:
        if fleet.spec.monitoring is None:
            return
        # Rules and dashboards are a tenth of the import time; most fleets have none.
        from gpufleet.addons.gpu_monitoring import GpuMonitoring, monitoring_plan

        GpuMonitoring.from_plan(name, monitoring_plan(GpuMonitoring.label(name), fleet), opts)

    def _acceptance(self, name: str, fleet: Fleet, before: list[pulumi.Resource]) -> None:
        if not any(pool.acceptance is not None for pool in fleet.pools):
            return
        from gpufleet.addons.acceptance import GpuAcceptance

        nodes = [one.nodes for one in self._pools.values() if one.nodes is not None]
        opts = pulumi.ResourceOptions(parent=self, depends_on=[*before, *nodes])
        GpuAcceptance.from_plan(name, FleetPlan(fleet=fleet), opts)

    def _queues(self, name: str, fleet: Fleet, opts: pulumi.ResourceOptions) -> None:
        if fleet.spec.queues is None or fleet.spec.addons.kueue.ownership is Ownership.GITOPS:
            return
        from gpufleet.addons.kueue_queues import KueueQueues, queues_plan

        KueueQueues.from_plan(name, queues_plan(KueueQueues.label(name), fleet), opts)


def _planned(component: str, args: GpuFleetArgs) -> GpuFleetPlan:
    given = declared(component, GpuFleetArgs, args)
    spec = spelled_as_files(FleetSpec, given["spec"])
    compiled = compile_data(spec, at=looked_at(component))
    connection: Connection = given.get("connection", {})
    fleet, platform = _deployable(component, compiled, connection)
    return GpuFleetPlan(
        fleet=fleet,
        findings=compiled.findings,
        platform=platform,
        cluster_name=connection.get("clusterName", fleet.spec.cluster.name),
        exceptions=given.get("policyExceptions") or {},
        warnings=tuple(warning_texts(compiled.findings)),
    )


def _deployable(
    component: str, compiled: Compiled, connection: Connection
) -> tuple[Fleet, PlatformFleet]:
    """The fleet and its platform. Raises one error with every finding."""
    findings = list(compiled.findings)
    fleet = compiled.fleet
    if fleet is None:
        refuse(component, ordered(findings))
    findings += validate_queues(fleet)
    platform = platform_components(fleet.platform).platform_fleet(fleet, connection)
    findings += platform.findings
    if has_errors(findings):
        refuse(component, ordered(findings))
    return fleet, platform


def _usd(spend: SpendBounds, bound: Money) -> str | None:
    amount = spend.usd(bound)
    return None if amount is None else format(amount.normalize(), "f")


def _unbounded(spend: SpendBounds) -> list[str]:
    bounds = (spend.minimum, spend.expected, spend.maximum)
    causes = [cause for b in bounds if isinstance(b, Unbounded) for cause in b.causes]
    return list(dict.fromkeys(causes))
