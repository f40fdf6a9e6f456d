"""The OpenShift part of a fleet: its autoscaler, and the component of each pool."""

from typing import cast

import pulumi

from gpufleet.components_base.platform_components import (
    Connection,
    OperatorResources,
    connection_missing,
    no_charts,
    pool_arguments,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.openshift.cluster_autoscaler import (
    OpenShiftClusterAutoscaler,
    OpenShiftClusterAutoscalerArgs,
    is_scaled,
)
from gpufleet.platforms.openshift.connection import judge_place
from gpufleet.platforms.openshift.machine_set import (
    OpenShiftGpuMachineSet,
    OpenShiftGpuMachineSetArgs,
)
from gpufleet.platforms.openshift.operators import OpenShiftOperators
from gpufleet.spec.base import Ownership

platform_charts = no_charts


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying a fleet that compiles."""
    managed = [pool for pool in fleet.pools if pool.ownership is Ownership.MANAGED]
    place = connection.get("openshift")
    if place is not None:
        return [
            finding
            for pool in managed
            for finding in judge_place(pool, place, "connection.openshift")
        ]
    if not managed:
        return []
    return [
        connection_missing(
            "openshift",
            "pools on OpenShift need the cluster's place on its vCenter: infrastructureName, "
            "server, datacenter, network",
            "give it beside the spec, as a MachineSet of the cluster says it",
        )
    ]


def platform_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
) -> list[pulumi.Resource]:
    """What the fleet's pools need once per cluster beside `GpuAddons`: the object that starts
    OpenShift's autoscaler, where a pool is scaled."""
    del connection
    addon = fleet.spec.addons.cluster_autoscaler
    ours = addon.enabled is not False and addon.ownership is Ownership.MANAGED
    if not ours or not is_scaled(fleet):
        return []
    arguments = {
        "catalogue": fleet.spec.catalogue,
        "pools": [pool_arguments(fleet, pool)["pool"] for pool in fleet.pools],
    }
    return [
        OpenShiftClusterAutoscaler(
            f"{name}-cluster-autoscaler",
            cast("OpenShiftClusterAutoscalerArgs", arguments),
            pulumi.ResourceOptions(parent=parent),
            compiled=fleet,
        )
    ]


def platform_operators(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet
) -> OperatorResources:
    """Operators from Lifecycle Manager, in the order in which they need each other."""
    operators = OpenShiftOperators(parent, name, fleet)
    return OperatorResources(operators.made, operators.outputs)


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> OpenShiftGpuMachineSet:
    """The component that makes the pool's machines."""
    arguments = {
        **pool_arguments(fleet, pool),
        "connection": connection["openshift"],
        "kubernetes_version": fleet.spec.cluster.kubernetes_version,
    }
    return OpenShiftGpuMachineSet(
        name, cast("OpenShiftGpuMachineSetArgs", arguments), opts, compiled=pool
    )
