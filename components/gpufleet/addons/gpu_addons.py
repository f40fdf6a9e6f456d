"""GpuAddons: what exists once per cluster so that its GPU pools work."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.addons.device_plugin import DevicePlugin, DevicePluginArgs
from gpufleet.addons.dra_driver import DraDriver, DraDriverArgs
from gpufleet.addons.gpu_operator import GpuOperator, GpuOperatorArgs
from gpufleet.addons.keda import Keda, KedaArgs
from gpufleet.addons.network_operator import NetworkOperator, NetworkOperatorArgs
from gpufleet.addons.neuron_device_plugin import NeuronDevicePlugin, NeuronDevicePluginArgs
from gpufleet.arguments import AddonsArgs, GpuPoolArgs
from gpufleet.components_base.charts import charts_of
from gpufleet.components_base.core_objects import ConfigMap, Namespace
from gpufleet.components_base.declarations import declared_fleet
from gpufleet.components_base.known_output import known_output
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.components_base.namespaces import operator_namespace
from gpufleet.fleet import Fleet
from gpufleet.fleet.model import DevicePluginPlan, NetworkPlan, OperatorPlan
from gpufleet.platforms.openshift.operators import OpenShiftOperators
from gpufleet.render.device_plugin_values import planned_plugin_settings
from gpufleet.render.dra_driver_values import needs_dra_driver
from gpufleet.render.gpu_operator_values import (
    ConfigFiles,
    configuration_names,
    exporter_files,
    fleet_operator_settings,
    mig_parted_files,
    plugin_files,
)
from gpufleet.render.keda_values import installs_keda, keda_fleet_values, keda_is_watched
from gpufleet.render.manifests import critical_pods_quota
from gpufleet.render.neuron_values import installs_neuron, neuron_arguments
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.network_operator import NetworkOperatorSettings

Outputs = dict[str, Any]


class GpuAddonsArgs(TypedDict):
    """Inputs of `GpuAddons`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: str
    """One of `eks`, `gke`, `vsphere`, `openshift`, `sandbox`."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster, whoever makes it: the add-ons know only the
    layouts and ways of sharing of these."""
    addons: NotRequired[AddonsArgs]
    """Overrides of what the pools imply. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""


class GpuAddons(pulumi.ComponentResource):
    """What exists once per cluster, in the order in which the parts need each other: the Network
    Operator where RDMA is used; MIG layouts and sharing configurations as ConfigMaps, and the GPU
    Operator that reads them, or the device plugin's own chart; the DRA driver; AWS Neuron's chart
    for Trainium and Inferentia. On OpenShift the operators come by Operator Lifecycle Manager, with
    their ClusterPolicy and NicClusterPolicy.

    Nodes must depend on it: their labels name configurations that have to exist before. An add-on
    with `ownership: existing` or `gitops` is not created.
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
    """Every MIG layout and sharing configuration that nodes may choose by their labels, by name:
    pools of other stacks may use these only."""
    networks: pulumi.Output[list[str]]
    """Secondary networks as pods' annotations name them: `<namespace>/<name>`."""

    def __init__(
        self,
        name: str,
        args: GpuAddonsArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Fleet | None = None,
    ) -> None:
        """Make the add-ons.

        Args:
            name: Name of the component, unique in its stack.
            args: The declarations.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.
            compiled: What the declarations mean, when the caller has compiled them already.

        Raises:
            InvalidArgumentsError: a declaration has an error; the text holds all of them.
        """
        component = f'GpuAddons "{name}"'
        fleet = declared_fleet(component, GpuAddonsArgs, args, compiled)
        super().__init__("gpufleet:index:GpuAddons", name, {}, opts)
        outputs: Outputs = dict.fromkeys(
            ("namespace", "mig_config", "device_plugin_config", "chart_version")
        )
        outputs["networks"] = []
        made: list[pulumi.Resource] = []
        plan = fleet.addons
        by_charts = fleet.spec.platform is not Platform.OPENSHIFT
        if not by_charts:
            operators = OpenShiftOperators(self, name, fleet)
            outputs |= operators.outputs
            made += operators.made
        if by_charts and _ours(plan.network_operator):
            network = self._network_operator(name, fleet)
            outputs["networks"] = network.networks
            made.append(network)
        if by_charts and _ours(plan.gpu_operator):
            operator, found = self._gpu_operator(name, fleet, list(made))
            outputs |= found
            made.append(operator)
        if _ours(plan.device_plugin):
            made.append(self._device_plugin(name, fleet, list(made)))
        if needs_dra_driver(fleet) and (
            fleet.spec.addons.dra_driver.ownership is Ownership.MANAGED
        ):
            self._dra_driver(name, args, fleet, list(made))
        if installs_keda(fleet):
            self._keda(name, fleet)
        if installs_neuron(fleet):
            self._neuron(name, fleet)
        self.namespace = _known(outputs["namespace"])
        self.mig_config = _known(outputs["mig_config"])
        self.device_plugin_config = _known(outputs["device_plugin_config"])
        self.chart_version = _known(outputs["chart_version"])
        self.configurations = known_output(configuration_names(fleet))
        self.networks = _known(outputs["networks"])
        self.register_outputs(
            {
                "namespace": self.namespace,
                "migConfig": self.mig_config,
                "devicePluginConfig": self.device_plugin_config,
                "chartVersion": self.chart_version,
                "configurations": self.configurations,
                "networks": self.networks,
            }
        )

    def _network_operator(self, name: str, fleet: Fleet) -> NetworkOperator:
        plan, addon = fleet.addons.network_operator, fleet.spec.addons.network_operator
        settings = addon.model_dump(
            mode="json",
            include=set(NetworkOperatorSettings.model_fields),
            exclude_unset=True,
            exclude_none=True,
        )
        rdma = [one.model_dump(mode="json", exclude_none=True) for one in plan.rdma]
        return NetworkOperator(
            f"{name}-network-operator",
            cast(
                "NetworkOperatorArgs",
                {
                    "settings": {**settings, "rdma": rdma, "wait": plan.wait},
                    "catalogue": fleet.spec.catalogue,
                    "version": plan.version,
                    "charts": charts_of(fleet),
                    "images": _images(fleet),
                    "node_feature_discovery": plan.node_feature_discovery,
                    "tolerations": [{"key": t.key, "effect": t.effect} for t in plan.tolerations],
                    "values": addon.values,
                },
            ),
            pulumi.ResourceOptions(parent=self),
        )

    def _gpu_operator(
        self, name: str, fleet: Fleet, before: list[pulumi.Resource]
    ) -> tuple[GpuOperator, Outputs]:
        plan = fleet.addons.gpu_operator
        namespace = operator_namespace(self, name, f"{name}-namespace", plan.namespace)
        mig = self._config_map(f"{name}-mig-parted", mig_parted_files(fleet), namespace)
        plugin = self._config_map(f"{name}-device-plugin", plugin_files(fleet), namespace)
        counters = exporter_files(fleet)
        if counters is not None:
            self._config_map(f"{name}-dcgm-metrics", counters, namespace)
        allowed = list(before)
        quota = critical_pods_quota(fleet)
        if quota is not None:
            quota["metadata"] |= {"namespace": _name_of(namespace)}
            quota_opts = pulumi.ResourceOptions(parent=self)
            allowed.append(ManifestObject(f"{name}-quota", quota, quota_opts))
        settings = fleet_operator_settings(fleet).model_dump(
            mode="json", exclude_unset=True, exclude_none=True
        )
        operator = GpuOperator(
            f"{name}-gpu-operator",
            cast(
                "GpuOperatorArgs",
                {
                    **settings,
                    "catalogue": fleet.spec.catalogue,
                    "version": plan.version,
                    "namespace": _name_of(namespace),
                    "mig_config": _name_of(mig),
                    "device_plugin_config": _name_of(plugin),
                    "charts": charts_of(fleet),
                    "values": fleet.spec.addons.gpu_operator.values,
                },
            ),
            # NIC drivers and Node Feature Discovery come with the Network Operator: first that.
            pulumi.ResourceOptions(parent=self, depends_on=allowed),
        )
        return operator, {
            "namespace": _name_of(namespace),
            "mig_config": _name_of(mig),
            "device_plugin_config": _name_of(plugin),
            "chart_version": operator.chart_version,
        }

    def _device_plugin(
        self, name: str, fleet: Fleet, before: list[pulumi.Resource]
    ) -> DevicePlugin:
        plan, addons = fleet.addons.device_plugin, fleet.spec.addons
        namespace = operator_namespace(self, name, f"{name}-plugin-namespace", plan.namespace)
        config = self._config_map(f"{name}-plugin-config", plugin_files(fleet), namespace)
        settings = planned_plugin_settings(addons, plan)
        return DevicePlugin(
            f"{name}-plugin",
            cast(
                "DevicePluginArgs",
                {
                    **settings.model_dump(mode="json", exclude_none=True),
                    "catalogue": fleet.spec.catalogue,
                    "version": plan.version,
                    "namespace": _name_of(namespace),
                    "config": _name_of(config),
                    "charts": charts_of(fleet),
                    "images": _images(fleet),
                    "values": addons.device_plugin.values,
                },
            ),
            pulumi.ResourceOptions(parent=self, depends_on=before),
        )

    def _dra_driver(
        self, name: str, args: GpuAddonsArgs, fleet: Fleet, before: list[pulumi.Resource]
    ) -> None:
        same = {key: args[key] for key in ("catalogue", "platform", "pools")}
        DraDriver(
            f"{name}-dra-driver",
            cast("DraDriverArgs", same),
            # It looks for the GPU driver that the GPU Operator installs.
            pulumi.ResourceOptions(parent=self, depends_on=before),
            compiled=fleet,
        )

    def _keda(self, name: str, fleet: Fleet) -> None:
        version = fleet.spec.addons.keda.version
        Keda(
            f"{name}-keda",
            cast(
                "KedaArgs",
                {
                    "catalogue": fleet.spec.catalogue,
                    "watched": keda_is_watched(fleet),
                    "charts": charts_of(fleet),
                    "values": keda_fleet_values(fleet),
                    **({} if version is None else {"version": version}),
                },
            ),
            pulumi.ResourceOptions(parent=self),
        )

    def _neuron(self, name: str, fleet: Fleet) -> None:
        addon = fleet.spec.addons.neuron_device_plugin
        NeuronDevicePlugin(
            f"{name}-neuron",
            cast(
                "NeuronDevicePluginArgs",
                {
                    **neuron_arguments(fleet),
                    "catalogue": fleet.spec.catalogue,
                    "version": fleet.addons.neuron.version,
                    "charts": charts_of(fleet),
                    "values": addon.values,
                },
            ),
            pulumi.ResourceOptions(parent=self),
        )

    def _config_map(self, name: str, files: ConfigFiles, namespace: Namespace) -> ConfigMap:
        return ConfigMap(
            name,
            metadata={
                "name": files.name,
                "namespace": _name_of(namespace),
                "labels": {"app.kubernetes.io/managed-by": "gpufleet"},
            },
            data=dict(files.data),
            opts=pulumi.ResourceOptions(parent=self),
        )


def _ours(plan: NetworkPlan | OperatorPlan | DevicePluginPlan) -> bool:
    return plan.enabled and plan.ownership is Ownership.MANAGED


def _images(fleet: Fleet) -> dict[str, Any]:
    return fleet.spec.addons.images.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def _name_of(made: Namespace | ConfigMap) -> Any:
    return made.metadata["name"]


def _known(value: Any) -> Any:
    return pulumi.Output.from_input(value)
