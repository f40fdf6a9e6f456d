"""DevicePlugin: NVIDIA's device plugin by its own chart, without the GPU Operator."""

from collections.abc import Mapping
from typing import Any

import pulumi

from gpufleet.arguments import DevicePluginArgs
from gpufleet.components_base.charts import ChosenChart, chosen_chart
from gpufleet.components_base.component import Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.refused_arguments import in_own_words, own_words_of
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.device_plugin_rules import ADDON, validate_keys
from gpufleet.render.device_plugin_values import (
    CHART,
    DeclaredDevicePlugin,
    PluginSettings,
    plugin_values,
)
from gpufleet.spec.secrets import validate_secrets


class DevicePlugin(ChartComponent[ReleasePlan]):
    """NVIDIA device plugin and GPU Feature Discovery: one Helm release, pinned.

    For clusters whose images contain driver and container toolkit. It and the GPU Operator's device
    plugin exclude each other on a node; `GpuAddons` ensures that.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""

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
        warnings=accepted(component, in_own_words(own_words_of(ADDON), findings)),
    )


def _planned(component: str, args: DevicePluginArgs) -> ReleasePlan:
    given = checked(component, DevicePluginArgs, args, DeclaredDevicePlugin)
    return device_plugin_plan(
        component,
        chosen_chart(component, given, CHART, given.images),
        given,
        given.config,
        given.values,
        given.namespace,
    )
