"""The OpenShift part of a fleet: its autoscaler, and the component of each pool."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.addons.network_operator import POLICY_TIMEOUT_SECONDS, READY
from gpufleet.components_base.cluster_objects import ManifestObject, awaited
from gpufleet.components_base.component import PoolPlan
from gpufleet.components_base.platform_components import (
    Connection,
    OperatorResources,
    PlatformFleet,
    connection_missing,
    managed_pools,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, OperatorSubscription
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
from gpufleet.platforms.openshift.olm import (
    NODE_FEATURE_DISCOVERY,
    fleet_cluster_policy,
    node_feature_discovery,
)
from gpufleet.platforms.openshift.olm_operator import WAIT, OlmOperator, OlmOperatorPlan
from gpufleet.render.gpu_operator_values import (
    exporter_files,
    mig_parted_files,
    plugin_files,
)
from gpufleet.render.manifests import config_map, nic_cluster_policy, secondary_networks
from gpufleet.spec.base import Ownership


@dataclass(frozen=True, kw_only=True)
class OpenShiftFleet(PlatformFleet):
    """A fleet on OpenShift."""

    autoscaler: OpenShiftAutoscalerPlan | None

    def parts(self, parent: pulumi.ComponentResource, name: str) -> list[pulumi.Resource]:
        """The object that starts OpenShift's autoscaler, if a pool is scaled."""
        if self.autoscaler is None:
            return []
        called, opts = f"{name}-cluster-autoscaler", pulumi.ResourceOptions(parent=parent)
        return [OpenShiftClusterAutoscaler.from_plan(called, self.autoscaler, opts)]


def platform_operators(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet
) -> OperatorResources:
    """Operators from Lifecycle Manager, in the order of their dependencies."""
    made: list[pulumi.Resource] = []
    outputs: dict[str, Any] = {"networks": []}
    for plan in fleet.addons.subscriptions:
        if plan.ownership is not Ownership.MANAGED:
            continue
        after = pulumi.ResourceOptions(parent=parent, depends_on=list(made))
        called, asked = f"{name}-{plan.name}", OlmOperatorPlan(operator=plan)
        operator = OlmOperator.from_plan(called, asked, after)
        made.append(operator)
        if plan.name == GPU_OPERATOR:
            own = pulumi.ResourceOptions(parent=parent)
            mig, plugin = mig_parted_files(fleet), plugin_files(fleet)
            counters = exporter_files(fleet)
            files = {"mig-parted": mig, "device-plugin": plugin, "dcgm-metrics": counters}
            made += [
                ManifestObject(f"{name}-{suffix}", config_map(one, operator.namespace), own)
                for suffix, one in files.items()
                if one is not None
            ]
            names = {"mig_config": mig.name, "device_plugin_config": plugin.name}
            outputs |= {"namespace": operator.namespace, **names, "chart_version": None}
        for suffix, document in _read_by(plan, operator, fleet):
            waits = WAIT in document["metadata"].get("annotations", {})
            after = pulumi.ResourceOptions(parent=parent, depends_on=list(made))
            if waits:
                after = awaited(parent, f"{POLICY_TIMEOUT_SECONDS}s", *made)
            made.append(ManifestObject(f"{name}-{suffix}", document, after))
        if plan.name == NETWORK_OPERATOR:
            outputs["networks"] = [
                f"{one['spec']['networkNamespace']}/{one['metadata']['name']}"
                for one in secondary_networks(fleet)
            ]
    return OperatorResources(made, outputs)


def _read_by(
    plan: OperatorSubscription, operator: OlmOperator, fleet: Fleet
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects that an operator reads, in order, each with the suffix of its resource's name."""
    if plan.name == NODE_FEATURE_DISCOVERY:
        document = node_feature_discovery(fleet, plan)
        document["metadata"]["namespace"] = operator.namespace
        yield "discovery", document
    elif plan.name == GPU_OPERATOR:
        yield "cluster-policy", fleet_cluster_policy(fleet)
    else:
        if (policy := nic_cluster_policy(fleet)) is not None:
            if fleet.addons.network_operator.wait:
                policy["metadata"]["annotations"] = {WAIT: READY}
            yield "nic-policy", policy
        for one in secondary_networks(fleet):
            kind = one["kind"].removesuffix("Network").lower()
            yield f"{kind}-{one['metadata']['name']}", one


def platform_fleet(fleet: Fleet, connection: Connection) -> OpenShiftFleet:
    """The fleet, with each pool validated."""
    cloud = CLOUDS[fleet.spec.platform]
    managed, given = managed_pools(fleet), connection.get(cloud.connection)
    findings: list[Finding] = []
    pools: dict[str, PoolPlan] = {}
    if managed and given is None:
        place = f"pools on OpenShift need the cluster's location on {cloud.where}: "
        fix = "pass it in `connection`, with the values of an existing MachineSet"
        findings.append(connection_missing(cloud.connection, place + cloud.place_fields, fix))
    elif given is not None:
        for pool in managed:
            pools[pool.name], found = machine_set_plan(
                pool, fleet.spec, given, f"connection.{cloud.connection}"
            )
            findings += found
    addon = fleet.spec.addons.cluster_autoscaler
    return OpenShiftFleet(
        fleet=fleet,
        findings=tuple(findings),
        pools=pools,
        makers={MachineSetPlan: OpenShiftGpuMachineSet},
        autoscaler=openshift_autoscaler_plan(fleet) if addon.ours else None,
    )
