"""GpuAddons: the cluster-wide parts that GPU pools need."""

from collections.abc import Mapping
from typing import Any

import pulumi

from gpufleet.addons.device_plugin import CHART as PLUGIN_CHART
from gpufleet.addons.device_plugin import DevicePlugin, device_plugin_plan
from gpufleet.addons.dra_driver import DraDriver
from gpufleet.addons.gpu_operator import CHART as OPERATOR_CHART
from gpufleet.addons.gpu_operator import GpuOperator, OperatorWiring, gpu_operator_plan
from gpufleet.addons.keda import CHART as KEDA_CHART
from gpufleet.addons.keda import Keda
from gpufleet.addons.network_operator import CHART as NETWORK_CHART
from gpufleet.addons.network_operator import NetworkOperator, network_operator_plan
from gpufleet.addons.neuron_device_plugin import NeuronDevicePlugin, NeuronPluginPlan
from gpufleet.arguments import GpuAddonsArgs
from gpufleet.components_base.charts import fleet_chart
from gpufleet.components_base.cluster_objects import ManifestObject, operator_namespace
from gpufleet.components_base.component import FleetPlan, GpuComponent, Options
from gpufleet.components_base.platform_components import platform_components
from gpufleet.components_base.release import ReleasePlan
from gpufleet.fleet import Fleet
from gpufleet.platforms.declarations import declared_fleet
from gpufleet.render.device_plugin_values import planned_plugin_settings
from gpufleet.render.dra_driver_values import needs_dra_driver
from gpufleet.render.gpu_operator_values import (
    configuration_names,
    exporter_files,
    fleet_operator_settings,
    mig_parted_files,
    plugin_files,
)
from gpufleet.render.keda_values import installs_keda, keda_release_values
from gpufleet.render.manifests import config_map, critical_pods_quota
from gpufleet.render.neuron_values import CHART as NEURON_CHART
from gpufleet.render.neuron_values import neuron_release_values
from gpufleet.render.nvidia_drivers import nvidia_drivers
from gpufleet.spec.base import Ownership

Outputs = dict[str, Any]


class GpuAddons(GpuComponent[FleetPlan]):
    """Cluster-wide parts of GPU pools, in the order of their dependencies: the Network Operator if
    RDMA is used; MIG layouts and sharing configurations as ConfigMaps, and the GPU Operator that
    reads them, or the device plugin's own chart; the DRA driver; AWS Neuron's chart for Trainium
    and Inferentia. On OpenShift, Operator Lifecycle Manager installs the operators, with their
    ClusterPolicy and NicClusterPolicy.

    Nodes must depend on it: their labels name configurations that must exist before. An add-on with
    `ownership: existing` or `gitops` is not created.
    """

    namespace: pulumi.Output[str | None]
    """Namespace of the GPU Operator. Absent when nothing was created."""
    mig_config: pulumi.Output[str | None]
    """Name of the ConfigMap with mig-parted configurations. Absent when nothing was created."""
    device_plugin_config: pulumi.Output[str | None]
    """Name of the ConfigMap with device-plugin configurations. Absent when nothing was created."""
    chart_version: pulumi.Output[str | None]
    """Version of the GPU Operator chart. Absent when nothing was created, and on OpenShift."""
    configurations: pulumi.Output[list[str]]
    """All MIG layouts and sharing configurations that nodes may select by their labels, by name:
    pools of other stacks may use only these."""
    networks: pulumi.Output[list[str]]
    """Secondary networks in the form of pods' annotations: `<namespace>/<name>`."""

    def __init__(self, name: str, args: GpuAddonsArgs, opts: Options = None) -> None:
        self._construct(name, declared_fleet(self.label(name), GpuAddonsArgs, args), opts)

    def _make(self, name: str, plan: FleetPlan) -> Mapping[str, object]:
        fleet, addons = plan.fleet, plan.fleet.addons
        outputs: Outputs = dict.fromkeys(
            ("namespace", "mig_config", "device_plugin_config", "chart_version")
        )
        outputs["networks"] = []
        made: list[pulumi.Resource] = []
        by_charts = not fleet.platform.facts.lifecycle_manager
        if not by_charts:
            platform = platform_components(fleet.platform)
            operators = platform.platform_operators(self, name, fleet)
            outputs |= operators.outputs
            made += operators.made
        if by_charts and addons.network_operator.ours:
            network = self._network_operator(name, fleet)
            outputs["networks"] = network.networks
            made.append(network)
        if by_charts and addons.gpu_operator.ours:
            operator, found = self._gpu_operator(name, fleet, list(made))
            outputs |= found
            made.append(operator)
        if addons.device_plugin.ours:
            made.append(self._device_plugin(name, fleet, list(made)))
        declared = fleet.spec.addons
        offered = needs_dra_driver(fleet) or declared.gpu_operator.gpu_cluster
        if offered and declared.dra_driver.ownership is Ownership.MANAGED:
            self._dra_driver(name, fleet, list(made))
        if installs_keda(fleet):
            self._keda(name, fleet)
        if addons.neuron.ours:
            self._neuron(name, fleet)
        return {**outputs, "configurations": configuration_names(fleet)}

    def _network_operator(self, name: str, fleet: Fleet) -> NetworkOperator:
        called = f"{name}-network-operator"
        plan = network_operator_plan(
            NetworkOperator.label(called),
            fleet_chart(fleet, NETWORK_CHART, fleet.spec.addons.network_operator),
            fleet.spec.addons,
            fleet.addons.network_operator,
        )
        return NetworkOperator.from_plan(called, plan, pulumi.ResourceOptions(parent=self))

    def _gpu_operator(
        self, name: str, fleet: Fleet, before: list[pulumi.Resource]
    ) -> tuple[GpuOperator, Outputs]:
        plan = fleet.addons.gpu_operator
        namespace = operator_namespace(self, name, f"{name}-namespace", plan.namespace)
        place, own = _name_of(namespace), pulumi.ResourceOptions(parent=self)
        layouts = config_map(mig_parted_files(fleet), place)
        mig = ManifestObject(f"{name}-mig-parted", layouts, own)
        sharing = config_map(plugin_files(fleet), place)
        plugin = ManifestObject(f"{name}-device-plugin", sharing, own)
        counters = exporter_files(fleet)
        if counters is not None:
            ManifestObject(f"{name}-dcgm-metrics", config_map(counters, place), own)
        allowed = list(before)
        quota = critical_pods_quota(fleet, "gpu-operator-quota", plan.namespace)
        if quota is not None:
            quota["metadata"] |= {"namespace": place}
            allowed.append(ManifestObject(f"{name}-quota", quota, own))
        called, addon = f"{name}-gpu-operator", fleet.spec.addons.gpu_operator
        operator = GpuOperator.from_plan(
            called,
            gpu_operator_plan(
                GpuOperator.label(called),
                fleet_chart(fleet, OPERATOR_CHART, addon),
                fleet_operator_settings(fleet),
                OperatorWiring(place, _name_of(plugin), _name_of(mig)),
                addon.values,
            ),
            # The Network Operator, with NIC drivers and Node Feature Discovery, is installed first.
            pulumi.ResourceOptions(parent=self, depends_on=allowed),
        )
        for manifest in nvidia_drivers(fleet):
            ManifestObject(
                f"{name}-driver-{manifest['metadata']['name']}",
                manifest,
                # The API refuses another kind of driver under the same name.
                pulumi.ResourceOptions(
                    parent=self,
                    depends_on=[operator],
                    replace_on_changes=["spec.driverType"],
                    delete_before_replace=True,
                ),
            )
        return operator, {
            "namespace": place,
            "mig_config": _name_of(mig),
            "device_plugin_config": _name_of(plugin),
            "chart_version": operator.chart_version,
        }

    def _device_plugin(
        self, name: str, fleet: Fleet, before: list[pulumi.Resource]
    ) -> DevicePlugin:
        plan, addons = fleet.addons.device_plugin, fleet.spec.addons
        namespace = operator_namespace(self, name, f"{name}-plugin-namespace", plan.namespace)
        place, own = _name_of(namespace), pulumi.ResourceOptions(parent=self)
        sharing = config_map(plugin_files(fleet), place)
        config = ManifestObject(f"{name}-plugin-config", sharing, own)
        called = f"{name}-plugin"
        return DevicePlugin.from_plan(
            called,
            device_plugin_plan(
                DevicePlugin.label(called),
                fleet_chart(fleet, PLUGIN_CHART, addons.device_plugin),
                planned_plugin_settings(addons, plan),
                _name_of(config),
                addons.device_plugin.values,
                place,
            ),
            pulumi.ResourceOptions(parent=self, depends_on=before),
        )

    def _dra_driver(self, name: str, fleet: Fleet, before: list[pulumi.Resource]) -> None:
        DraDriver.from_plan(
            f"{name}-dra-driver",
            FleetPlan(fleet=fleet),
            # It uses the GPU driver that the GPU Operator installs.
            pulumi.ResourceOptions(parent=self, depends_on=before),
        )

    def _keda(self, name: str, fleet: Fleet) -> None:
        chart = fleet_chart(fleet, KEDA_CHART, fleet.spec.addons.keda)
        plan = ReleasePlan(chart=chart, values=keda_release_values(fleet))
        Keda.from_plan(f"{name}-keda", plan, pulumi.ResourceOptions(parent=self))

    def _neuron(self, name: str, fleet: Fleet) -> None:
        plan = NeuronPluginPlan(
            chart=fleet_chart(fleet, NEURON_CHART, fleet.spec.addons.neuron_device_plugin),
            values=neuron_release_values(fleet),
            scheduler=fleet.addons.neuron.scheduler,
        )
        NeuronDevicePlugin.from_plan(f"{name}-neuron", plan, pulumi.ResourceOptions(parent=self))


def _name_of(made: ManifestObject) -> Any:
    return made.metadata["name"]
