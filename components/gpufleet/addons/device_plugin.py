"""DevicePlugin: NVIDIA's device plugin by its own chart, without the GPU Operator."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

import pulumi
from pydantic import Field

from gpufleet.arguments import ChartsArgs, ImagesArgs, OperandTolerationArgs
from gpufleet.components_base.addon_findings import in_own_words
from gpufleet.components_base.charts import ChosenChart, chosen_chart
from gpufleet.components_base.component import Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.device_plugin_rules import ADDON, validate_keys
from gpufleet.render.device_plugin_values import CHART, PluginSettings, plugin_values
from gpufleet.spec.chart_components import ChartChoice
from gpufleet.spec.images import Images
from gpufleet.spec.secrets import validate_secrets


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
    """Taints its pods tolerate with any value, next to `nvidia.com/gpu`. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(PluginSettings, ChartChoice):
    """The arguments that must be known before deployment."""

    images: Images = Field(default_factory=Images)


class DevicePlugin(ChartComponent[ReleasePlan]):
    """NVIDIA device plugin and GPU Feature Discovery: one Helm release, pinned.

    For clusters whose images bring driver and container toolkit. It and the GPU Operator's device
    plugin exclude each other on a node; `GpuAddons` sees to that.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(self, name: str, args: DevicePluginArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def device_plugin_plan(
    component: str,
    chart: ChosenChart,
    settings: PluginSettings,
    config: pulumi.Input[str],
    raw: Mapping[str, Any],
    namespace: pulumi.Input[str] | None = None,
) -> ReleasePlan:
    """The release of a chart, with raw values merged last.

    Raises InvalidArgumentsError when raw values cannot work.
    """
    findings = [*validate_secrets(raw, f"{ADDON}.values"), *validate_keys(raw, chart.version)]
    values = merged(plugin_values(settings), {"config": {"name": config}})
    return ReleasePlan(
        chart=chart,
        values=merged(values, raw),
        namespace=namespace,
        warnings=accepted(component, in_own_words(ADDON, findings)),
    )


def _planned(component: str, args: DevicePluginArgs) -> ReleasePlan:
    given = checked(component, DevicePluginArgs, args, _Declared)
    return device_plugin_plan(
        component,
        chosen_chart(component, given, CHART, given.images),
        given,
        args["config"],
        args.get("values", {}),
        args.get("namespace"),
    )
