"""NetworkOperator: NVIDIA's Network Operator, its policy, and networks for pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.arguments import NetworkOperatorArgs
from gpufleet.cluster.pods import PodToleration
from gpufleet.components_base.charts import ChosenChart, chosen_chart
from gpufleet.components_base.cluster_objects import ManifestObject, awaited, operator_namespace
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.refused_arguments import in_own_words, own_words_of
from gpufleet.components_base.release import chart_release
from gpufleet.fleet.model import NetworkPlan
from gpufleet.fleet.network_rules import ADDON, validate_documents
from gpufleet.fleet.nic_cluster_policy import network_operator_values, networks, policy
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.components import DeclaredNetworkOperator

CHART = "network-operator"
POLICY_TIMEOUT_SECONDS = 3600
"""Timeout until the NicClusterPolicy is ready: each node builds and loads a driver."""
READY = "jsonpath={.status.state}=ready"


@dataclass(frozen=True, kw_only=True)
class NetworkOperatorPlan(ComponentPlan):
    """Chart, policy and networks, validated."""

    chart: ChosenChart
    addons: Addons
    """The section of a FleetSpec with the settings."""
    network: NetworkPlan
    """The plan that follows from the settings and the pools."""
    namespace: pulumi.Input[str] | None = None
    """Namespace, which must exist. Default: one is created."""


class NetworkOperator(GpuComponent[NetworkOperatorPlan]):
    """NVIDIA Network Operator: Helm release, NicClusterPolicy, secondary networks.

    One per cluster. With `wait`, networks are created, and dependent resources continue, only when
    the policy is ready.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""
    networks: pulumi.Output[list[str]]
    """Names of the secondary networks in the form of pods' annotations: `<namespace>/<name>`."""

    def __init__(self, name: str, args: NetworkOperatorArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: NetworkOperatorPlan) -> Mapping[str, object]:
        namespace = plan.namespace
        if namespace is None:
            made_in = operator_namespace(self, name, f"{name}-namespace", plan.network.namespace)
            namespace = made_in.metadata["name"]
        release = chart_release(
            self,
            f"{name}-release",
            plan.chart,
            namespace=namespace,
            values=network_operator_values(plan.addons, plan.network),
        )
        before: list[pulumi.Resource] = [release]
        document = policy(plan.addons, plan.network)
        if document is not None:
            before.append(self._policy(name, document, plan.network.wait, release))
        made = networks(plan.addons.network_operator)
        for one in made:
            ManifestObject(
                f"{name}-{one['kind'].removesuffix('Network').lower()}-{one['metadata']['name']}",
                one,
                pulumi.ResourceOptions(parent=self, depends_on=before),
            )
        return {
            "namespace": pulumi.Output.from_input(namespace),
            "chart_version": plan.network.version,
            "networks": [
                f"{one['spec']['networkNamespace']}/{one['metadata']['name']}" for one in made
            ],
        }

    def _policy(
        self, name: str, document: dict[str, Any], wait: bool, release: pulumi.Resource
    ) -> pulumi.Resource:
        if wait:
            metadata = {**document["metadata"], "annotations": {"pulumi.com/waitFor": READY}}
            document = {**document, "metadata": metadata}
        opts = awaited(self, f"{POLICY_TIMEOUT_SECONDS}s", release)
        return ManifestObject(f"{name}-policy", document, opts)


def network_operator_plan(
    component: str,
    chart: ChosenChart,
    addons: Addons,
    network: NetworkPlan,
    namespace: pulumi.Input[str] | None = None,
) -> NetworkOperatorPlan:
    """Raises InvalidArgumentsError when chart and policy cannot work with these settings."""
    findings = validate_documents(addons, network)
    return NetworkOperatorPlan(
        chart=chart,
        addons=addons,
        network=network,
        namespace=namespace,
        warnings=accepted(component, in_own_words(own_words_of(ADDON), findings)),
    )


def _planned(component: str, args: NetworkOperatorArgs) -> NetworkOperatorPlan:
    given = checked(component, NetworkOperatorArgs, args, DeclaredNetworkOperator)
    chart = chosen_chart(component, given, CHART, given.images)
    network = NetworkPlan(
        enabled=True,
        ownership=Ownership.MANAGED,
        version=chart.version,
        namespace=chart.pin.namespace,
        node_feature_discovery=given.node_feature_discovery,
        rdma=given.settings.rdma or (),
        wait=given.settings.wait is True,
        tolerations=tuple(
            PodToleration(key=one.key, operator="Exists", effect=one.effect)
            for one in given.tolerations
        ),
    )
    return network_operator_plan(component, chart, _addons(given), network, given.namespace or None)


def _addons(given: DeclaredNetworkOperator) -> Addons:
    """The arguments as the section of a FleetSpec that they restate."""
    written: dict[str, Any] = {"mode": "json", "by_alias": True, "exclude_unset": True}
    settings = given.settings.model_dump(**written, exclude_none=True)
    return Addons.model_validate(
        {
            "networkOperator": {**settings, "values": given.values},
            "images": given.images.model_dump(**written),
        }
    )
