"""The OpenShift part of a fleet: its autoscaler, and the component of each pool."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.addons.network_operator import POLICY_TIMEOUT_SECONDS, READY
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.platform_components import (
    Connection,
    OperatorResources,
    PlatformFleet,
    connection_missing,
    managed_pools,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
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
from gpufleet.render.manifests import config_map
from gpufleet.render.network_operator import nic_cluster_policy, secondary_networks
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
    return OpenShiftFleet(
        fleet=fleet,
        findings=tuple(findings),
        pools=pools,
        autoscaler=openshift_autoscaler_plan(fleet) if addon.ours else None,
    )


Outputs = dict[str, Any]


class OpenShiftOperators:
    """The operators of one fleet, in the order in which they need each other."""

    def __init__(self, component: pulumi.ComponentResource, name: str, fleet: Fleet) -> None:
        """Make them.

        Args:
            component: Parent of everything.
            name: First part of the resources' names.
            fleet: The fleet.
        """
        self._component, self._name, self._fleet = component, name, fleet
        self.made: list[pulumi.Resource] = []
        self.outputs: Outputs = {"networks": []}
        for plan in fleet.addons.subscriptions:
            if plan.ownership is Ownership.MANAGED:
                operator = OlmOperator.from_plan(
                    f"{name}-{plan.name}",
                    OlmOperatorPlan(operator=plan),
                    pulumi.ResourceOptions(parent=component, depends_on=list(self.made)),
                )
                self.made.append(operator)
                self._told(plan, operator)

    def _told(self, plan: OperatorSubscription, operator: OlmOperator) -> None:
        if plan.name == NODE_FEATURE_DISCOVERY:
            self._discovery(plan, operator)
        elif plan.name == NETWORK_OPERATOR:
            self._network()
        elif plan.name == GPU_OPERATOR:
            self._gpu(operator)

    def _discovery(self, plan: OperatorSubscription, operator: OlmOperator) -> None:
        document = node_feature_discovery(self._fleet, plan)
        document["metadata"]["namespace"] = operator.namespace
        self._object(f"{self._name}-discovery", document)

    def _network(self) -> None:
        policy = nic_cluster_policy(self._fleet)
        if policy is not None:
            timeout = None
            if self._fleet.addons.network_operator.wait:
                policy["metadata"]["annotations"] = {WAIT: READY}
                timeout = f"{POLICY_TIMEOUT_SECONDS}s"
            self._object(f"{self._name}-nic-policy", policy, timeout)
        networks = secondary_networks(self._fleet)
        for one in networks:
            kind = one["kind"].removesuffix("Network").lower()
            self._object(f"{self._name}-{kind}-{one['metadata']['name']}", one)
        self.outputs["networks"] = [
            f"{one['spec']['networkNamespace']}/{one['metadata']['name']}" for one in networks
        ]

    def _gpu(self, operator: OlmOperator) -> None:
        mig, plugin = mig_parted_files(self._fleet), plugin_files(self._fleet)
        counters = exporter_files(self._fleet)
        own = pulumi.ResourceOptions(parent=self._component)
        maps = [
            ManifestObject(f"{self._name}-{suffix}", config_map(files, operator.namespace), own)
            for suffix, files in (
                ("mig-parted", mig),
                ("device-plugin", plugin),
                ("dcgm-metrics", counters),
            )
            if files is not None
        ]
        self.made += maps
        self._object(f"{self._name}-cluster-policy", fleet_cluster_policy(self._fleet))
        self.outputs |= {
            "namespace": operator.namespace,
            "mig_config": mig.name,
            "device_plugin_config": plugin.name,
            "chart_version": None,
        }

    def _object(self, name: str, document: dict[str, Any], timeout: str | None = None) -> None:
        self.made.append(
            ManifestObject(
                name,
                document,
                pulumi.ResourceOptions(
                    parent=self._component,
                    depends_on=list(self.made),
                    custom_timeouts=None
                    if timeout is None
                    else pulumi.CustomTimeouts(create=timeout, update=timeout),
                ),
            )
        )
