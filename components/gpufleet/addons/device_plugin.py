"""DevicePlugin: NVIDIA's device plugin by its own chart, without the GPU Operator."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pydantic import Field

from gpufleet.addons.gpu_operator import OperandTolerationArgs
from gpufleet.arguments import ChartsArgs, ImagesArgs
from gpufleet.components_base.addon_findings import judged
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import chart_release
from gpufleet.fleet.device_plugin_rules import ADDON, judge_keys
from gpufleet.render.device_plugin_values import PluginSettings, plugin_values
from gpufleet.render.gpu_operator_values import merged
from gpufleet.spec.images import Images
from gpufleet.spec.secrets import judge_secrets


class DevicePluginArgs(TypedDict):
    """Inputs of `DevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    config: pulumi.Input[str]
    """Name of the ConfigMap with the plugin's configurations, one per key, in its namespace."""
    version: NotRequired[str]
    """Chart version, `0.20.0`. Default: the catalogue's pin."""
    namespace: NotRequired[pulumi.Input[str]]
    """Namespace, which must exist and admit privileged pods, and is not `default`. Default:
    `nvidia-device-plugin`."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    images: NotRequired[ImagesArgs]
    """Where images come from. Default: the vendors' own."""
    default_config: NotRequired[str]
    """Key of the ConfigMap for nodes that choose none by the label
    `nvidia.com/device-plugin.config`. Default `default`."""
    mig_strategy: NotRequired[str]
    """One of `single`, `mixed`: how MIG devices are named, on all nodes. Default: MIG devices are
    not advertised."""
    pools: NotRequired[list[str]]
    """Pools whose nodes it runs on. Default: every node with an NVIDIA GPU."""
    gpu_feature_discovery: NotRequired[bool]
    """Label nodes with what their GPUs are; MPS needs it. Default true."""
    node_feature_discovery: NotRequired[bool]
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    image_pull_secret: NotRequired[str]
    """Secret for images, in the plugin's namespace. Default: none."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints its pods tolerate with any value, beside `nvidia.com/gpu`. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(PluginSettings, ChartChoice):
    """The arguments that must be known before deployment."""

    images: Images = Field(default_factory=Images)


class DevicePlugin(pulumi.ComponentResource):
    """NVIDIA device plugin and GPU Feature Discovery: one Helm release, pinned.

    For clusters whose images bring driver and container toolkit. It and the GPU Operator's device
    plugin exclude each other on a node; `GpuAddons` sees to that.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(
        self, name: str, args: DevicePluginArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the chart.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'DevicePlugin "{name}"'
        settings = checked(component, DevicePluginArgs, cast("dict[str, Any]", args), _Declared)
        chart = chosen_chart(component, settings, "nvidia-device-plugin")
        raw = args.get("values", {})
        warnings = judged(
            component, ADDON, [*judge_secrets(raw, f"{ADDON}.values"), *judge_keys(raw)]
        )
        values = merged(
            plugin_values(settings, settings.images), {"config": {"name": args["config"]}}
        )
        super().__init__("gpufleet:index:DevicePlugin", name, {}, opts)
        for warning in warnings:
            pulumi.log.warn(warning, self)
        made = chart_release(
            self,
            f"{name}-release",
            chart,
            namespace=args.get("namespace", chart.pin.namespace),
            values=merged(values, raw),
        )
        self.release_name = cast("pulumi.Output[str]", made.name)
        self.chart_version = pulumi.Output.from_input(chart.version)
        self.register_outputs(
            {"releaseName": self.release_name, "chartVersion": self.chart_version}
        )
