"""EfaDevicePlugin: what makes nodes advertise their EFA interfaces."""

from typing import Any, NotRequired, TypedDict

import pulumi
from pydantic import Field

from gpufleet.addons.gpu_operator import OperandTolerationArgs
from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.gpu_operator_chart import OperandToleration
from gpufleet.platforms.eks.efa import CHART, efa_device_plugin_values


class EfaDevicePluginArgs(TypedDict):
    """Inputs of `EfaDevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    instance_types: list[str]
    """Instance types of the nodes it runs on; the chart's own list ends before newer ones."""
    version: NotRequired[str]
    """Chart version, `v0.5.20`. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints it tolerates with any value, next to `nvidia.com/gpu`. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(ChartChoice):
    """The arguments that must be known before deployment."""

    instance_types: tuple[str, ...] = Field(min_length=1)
    tolerations: tuple[OperandToleration, ...] = ()


class EfaDevicePlugin(ChartComponent[ReleasePlan]):
    """AWS EFA device plugin: without it a node has its EFA interfaces, and no pod can ask for them
    as `vpc.amazonaws.com/efa`.

    One Helm release per cluster, on the named instance types only. Pods that use EFA must ask for
    `hugepages-2Mi` as well: the driver sets pages aside.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(self, name: str, args: EfaDevicePluginArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: EfaDevicePluginArgs) -> ReleasePlan:
    given = checked(component, EfaDevicePluginArgs, args, _Declared)
    tolerations = [(one.key, one.effect) for one in given.tolerations]
    values = efa_device_plugin_values(given.instance_types, tolerations)
    return ReleasePlan(
        chart=chosen_chart(component, given, CHART),
        values=merged(values, args.get("values", {})),
    )
