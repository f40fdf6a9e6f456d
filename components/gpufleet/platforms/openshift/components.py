"""The OpenShift part of a fleet: its autoscaler, and the component of each pool."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpufleet.components_base.platform_components import (
    Connection,
    OperatorResources,
    PlatformFleet,
    connection_missing,
    managed_pools,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.openshift.cluster_autoscaler import (
    OpenShiftAutoscalerPlan,
    OpenShiftClusterAutoscaler,
    openshift_autoscaler_plan,
)
from gpufleet.platforms.openshift.machine_clouds import CLOUDS
from gpufleet.platforms.openshift.machine_set import (
    MachineSetPlan,
    OpenShiftGpuMachineSet,
    machine_set_plan,
)
from gpufleet.platforms.openshift.operators import OpenShiftOperators
from gpufleet.spec.base import Ownership


@dataclass(frozen=True, kw_only=True)
class OpenShiftFleet(PlatformFleet):
    """A fleet on OpenShift."""

    pools: Mapping[str, MachineSetPlan]
    """Of each pool that gpufleet manages, by name."""
    autoscaler: OpenShiftAutoscalerPlan | None

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """The object that starts OpenShift's autoscaler, where a pool is scaled."""
        if self.autoscaler is None:
            return []
        called, opts = f"{name}-cluster-autoscaler", pulumi.ResourceOptions(parent=parent)
        return [OpenShiftClusterAutoscaler.from_plan(called, self.autoscaler, opts)]

    def nodes(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> OpenShiftGpuMachineSet:
        """The component that makes the pool's machines."""
        return OpenShiftGpuMachineSet.from_plan(name, self.pools[pool.name], opts)


def platform_operators(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet
) -> OperatorResources:
    """Operators from Lifecycle Manager, in the order in which they need each other."""
    operators = OpenShiftOperators(parent, name, fleet)
    return OperatorResources(operators.made, operators.outputs)


def platform_fleet(fleet: Fleet, connection: Connection) -> OpenShiftFleet:
    """The fleet, with each pool validated."""
    cloud = CLOUDS[fleet.spec.platform]
    managed, given = managed_pools(fleet), connection.get(cloud.connection)
    findings: list[Finding] = []
    pools: dict[str, MachineSetPlan] = {}
    if managed and given is None:
        place = f"pools on OpenShift need the cluster's place on {cloud.where}: "
        fix = "pass it besides the spec, with the values of an existing MachineSet"
        findings.append(connection_missing(cloud.connection, place + cloud.place_fields, fix))
    elif given is not None:
        for pool in managed:
            pools[pool.name], found = machine_set_plan(
                pool, fleet.spec, given, f"connection.{cloud.connection}"
            )
            findings += found
    addon = fleet.spec.addons.cluster_autoscaler
    ours = addon.enabled is not False and addon.ownership is Ownership.MANAGED
    return OpenShiftFleet(
        fleet=fleet,
        findings=tuple(findings),
        pools=pools,
        autoscaler=openshift_autoscaler_plan(fleet) if ours else None,
    )
