"""GpuFleet: a whole FleetSpec as one component."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.addons.gpu_addons import GpuAddons, GpuAddonsArgs
from gpufleet.arguments import GpuPoolArgs
from gpufleet.components_base.inputs import declared, refuse
from gpufleet.components_base.known_output import known_output
from gpufleet.findings import Finding, Severity, has_errors, ordered
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
from gpufleet.platforms.gke.connection import GkeNetworkArgs
from gpufleet.platforms.openshift.connection import OpenShiftConnectionArgs
from gpufleet.platforms.registry import FleetPlatform, platform_of
from gpufleet.platforms.vsphere.connection import VsphereConnectionArgs
from gpufleet.render.kueue_rules import judge_queues
from gpufleet.spec.base import Ownership, SpecModel

if TYPE_CHECKING:
    from gpufleet.addons.gpu_monitoring import GpuMonitoringArgs
    from gpufleet.addons.kueue_queues import KueueQueuesArgs


class GpuFleetConnectionArgs(TypedDict):
    """What other resources produce and a fleet is wired to."""

    cluster_name: NotRequired[pulumi.Input[str]]
    """Cluster the nodes join, as the resource that makes it reports it; nodes wait for it.
    Default: `cluster.name` of the spec."""
    node_role_arn: NotRequired[pulumi.Input[str]]
    """EKS: IAM role of the nodes; needed there."""
    subnet_ids_by_zone: NotRequired[dict[str, pulumi.Input[str]]]
    """EKS: zone -> private subnet; needed there. The zones must be known before deployment, the ids
    need not."""
    vpc_id: NotRequired[pulumi.Input[str]]
    """EKS: network of the cluster; needed with `fabric: efa`."""
    cluster_security_group_id: NotRequired[pulumi.Input[str]]
    """EKS: security group that EKS made for the cluster; needed with `fabric: efa` and with
    Karpenter."""
    security_group_ids: NotRequired[list[pulumi.Input[str]]]
    """EKS: further security groups of the nodes. Default: none."""
    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """EKS: address of the API server; needed with images of your own."""
    cluster_certificate_authority: NotRequired[pulumi.Input[str]]
    """EKS: its certificate authority, Base64; needed with images of your own."""
    cluster_service_cidr: NotRequired[pulumi.Input[str]]
    """EKS: address range of services; needed with images of your own."""
    location: NotRequired[pulumi.Input[str]]
    """GKE: where the control plane is, for a zonal cluster. Default: the region."""
    project: NotRequired[pulumi.Input[str]]
    """GKE: Google Cloud project. Default: `cluster.project` of the spec, else the provider's."""
    service_account: NotRequired[pulumi.Input[str]]
    """GKE: e-mail of the nodes' service account. Default: the project's default one."""
    network_tags: NotRequired[list[pulumi.Input[str]]]
    """GKE: network tags of the nodes. Default: none."""
    gpu_networks: NotRequired[dict[str, GkeNetworkArgs]]
    """GKE: networks of GPU interfaces, by the name pods use (`vpc1`, `gvnic-1`, `rdma-0`); needed
    with a `fabric`, unless GKE makes them. The names must be known before deployment."""

    vsphere: NotRequired[VsphereConnectionArgs]
    """vSphere: the vCenter, the place in its inventory, and the way into the cluster; needed
    there."""
    openshift: NotRequired[OpenShiftConnectionArgs]
    """OpenShift: the cluster's place on its vCenter; needed there."""


class GpuFleetArgs(TypedDict):
    """Inputs of `GpuFleet`."""

    spec: dict[str, Any]
    """The FleetSpec, plain data in the spelling of the file (camelCase). An Output inside it is an
    error: what is not known before deployment belongs into `connection`."""
    connection: NotRequired[GpuFleetConnectionArgs]
    """What other resources produce. Default: nothing."""
    policy_exceptions: NotRequired[dict[str, str]]
    """Rules of the policy pack that this fleet may break: rule -> `<reason>; until=YYYY-MM-DD`. The
    pack says which of them do not count. Default: none."""


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
        compiled = compile_data(given["spec"])
        connection = args.get("connection", {})
        exceptions = given.get("policyExceptions")
        fleet, platform = _deployable(component, compiled, connection)
        super().__init__(
            "gpufleet:index:GpuFleet",
            name,
            {
                "fleet": fleet_as_dict(fleet),
                "findings": [finding.as_dict() for finding in compiled.findings],
                **({"policyExceptions": exceptions} if exceptions else {}),
            },
            opts,
        )
        self._warn(compiled.findings)
        declarations = {pool.name: _pool_args(pool) for pool in fleet.pools}
        addons = GpuAddons(
            f"{name}-addons",
            cast(
                "GpuAddonsArgs",
                {
                    "catalogue": fleet.spec.catalogue,
                    "platform": fleet.spec.platform.value,
                    "pools": list(declarations.values()),
                },
            ),
            pulumi.ResourceOptions(parent=self),
            compiled=fleet,
        )
        self._queues(name, fleet, declarations)
        self._monitoring(name, fleet, declarations)
        parts = platform.platform_parts(self, name, fleet, connection)
        # Labels name configurations: the operator must have them before a node shows up.
        opts = pulumi.ResourceOptions(parent=self, depends_on=[addons, *parts])
        self._pools: dict[str, FleetPool] = {}
        for pool in fleet.pools:
            nodes = None
            if pool.ownership is Ownership.MANAGED:
                called = f"{name}-{pool.name}"
                nodes = platform.platform_pool(called, pool, fleet, connection, opts)
            self._pools[pool.name] = FleetPool(pool.name, declarations[pool.name], nodes)
        advertised = {pool.name: dict(pool.advertised) for pool in fleet.pools}
        spend = fleet.spend
        minimum, expected, maximum = (
            _usd(spend, bound) for bound in (spend.minimum, spend.expected, spend.maximum)
        )
        unbounded = _unbounded(spend)
        self.advertised = known_output(advertised)
        self.minimum_usd_per_hour = known_output(minimum)
        self.expected_usd_per_hour = known_output(expected)
        self.maximum_usd_per_hour = known_output(maximum)
        self.unbounded_spend = known_output(unbounded)
        self.cluster_name = pulumi.Output.from_input(
            connection.get("cluster_name", fleet.spec.cluster.name)
        )
        self.register_outputs(
            {
                "advertised": advertised,
                "minimumUsdPerHour": minimum,
                "expectedUsdPerHour": expected,
                "maximumUsdPerHour": maximum,
                "unboundedSpend": unbounded,
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

    def _monitoring(self, name: str, fleet: Fleet, declarations: Mapping[str, GpuPoolArgs]) -> None:
        monitoring = fleet.spec.monitoring
        if monitoring is None:
            return
        # Rules and dashboards are a tenth of what a program imports; most fleets have none.
        from gpufleet.addons.gpu_monitoring import GpuMonitoring

        queues = fleet.spec.queues
        GpuMonitoring(
            f"{name}-monitoring",
            cast(
                "GpuMonitoringArgs",
                {
                    "catalogue": fleet.spec.catalogue,
                    "platform": fleet.spec.platform.value,
                    "pools": list(declarations.values()),
                    "monitoring": _plain(monitoring),
                    **({} if queues is None else {"queues": _plain(queues)}),
                },
            ),
            pulumi.ResourceOptions(parent=self),
            compiled=fleet,
        )

    def _queues(self, name: str, fleet: Fleet, declarations: Mapping[str, GpuPoolArgs]) -> None:
        if fleet.spec.queues is None or fleet.spec.addons.kueue.ownership is Ownership.GITOPS:
            return
        from gpufleet.addons.kueue_queues import KueueQueues

        KueueQueues(
            f"{name}-queues",
            cast(
                "KueueQueuesArgs",
                {
                    "catalogue": fleet.spec.catalogue,
                    "platform": fleet.spec.platform.value,
                    "pools": list(declarations.values()),
                    "queues": _plain(fleet.spec.queues),
                },
            ),
            pulumi.ResourceOptions(parent=self),
            compiled=fleet,
        )


def _deployable(
    component: str, compiled: Compiled, connection: GpuFleetConnectionArgs
) -> tuple[Fleet, FleetPlatform]:
    """The fleet and its platform, or one error with every finding."""
    findings = list(compiled.findings)
    fleet = compiled.fleet
    if fleet is None:
        refuse(component, ordered(findings))
    findings += judge_queues(fleet)
    platform = platform_of(fleet)
    findings += platform.judge_platform(fleet, connection)
    if has_errors(findings):
        refuse(component, ordered(findings))
    return fleet, platform


def _pool_args(pool: Pool) -> GpuPoolArgs:
    """The pool's declaration as components take it: only what its author wrote."""
    return cast("GpuPoolArgs", _plain(pool.spec))


def _plain(declaration: SpecModel) -> dict[str, Any]:
    """Only what its author wrote, in the spelling of arguments."""
    return declaration.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def _usd(spend: SpendBounds, bound: Money) -> str | None:
    amount = spend.usd(bound)
    return None if amount is None else format(amount.normalize(), "f")


def _unbounded(spend: SpendBounds) -> list[str]:
    bounds = (spend.minimum, spend.expected, spend.maximum)
    causes = [cause for b in bounds if isinstance(b, Unbounded) for cause in b.causes]
    return list(dict.fromkeys(causes))
