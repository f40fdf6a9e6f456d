"""What `GpuAddons` makes on OpenShift instead of Helm releases: operators, and their objects."""

from typing import Any

import pulumi

from gpufleet.addons.network_operator import POLICY_TIMEOUT_SECONDS, READY
from gpufleet.components_base.core_objects import ConfigMap
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.fleet import Fleet
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, OperatorSubscription
from gpufleet.platforms.openshift.lifecycle import NODE_FEATURE_DISCOVERY
from gpufleet.platforms.openshift.olm import fleet_cluster_policy, node_feature_discovery
from gpufleet.platforms.openshift.olm_operator import WAIT, OlmOperator, OlmOperatorPlan
from gpufleet.render.gpu_operator_values import (
    ConfigFiles,
    exporter_files,
    mig_parted_files,
    plugin_files,
)
from gpufleet.render.network_operator import nic_cluster_policy, secondary_networks
from gpufleet.spec.base import Ownership

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
        maps = [
            self._config_map(suffix, files, operator)
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

    def _config_map(self, suffix: str, files: ConfigFiles, operator: OlmOperator) -> ConfigMap:
        return ConfigMap(
            f"{self._name}-{suffix}",
            metadata={
                "name": files.name,
                "namespace": operator.namespace,
                "labels": {"app.kubernetes.io/managed-by": "gpufleet"},
            },
            data=dict(files.data),
            opts=pulumi.ResourceOptions(parent=self._component),
        )
