"""EfaDevicePlugin: advertises the EFA interfaces of nodes."""

import pulumi

from gpufleet.arguments import EfaDevicePluginArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.platforms.eks.efa import CHART, efa_device_plugin_values
from gpufleet.spec.chart_components import DeclaredEfaPlugin


class EfaDevicePlugin(ChartComponent[ReleasePlan]):
    """AWS EFA device plugin: without it, pods cannot request a node's EFA interfaces as
    `vpc.amazonaws.com/efa`.

    One Helm release per cluster, on the named instance types only. Pods that use EFA must also
    request `hugepages-2Mi`: the driver reserves pages.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""

    def __init__(self, name: str, args: EfaDevicePluginArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: EfaDevicePluginArgs) -> ReleasePlan:
    given = checked(component, EfaDevicePluginArgs, args, DeclaredEfaPlugin)
    tolerations = [(one.key, one.effect) for one in given.tolerations]
    values = efa_device_plugin_values(given.instance_types, tolerations)
    return ReleasePlan(
        chart=chosen_chart(component, given, CHART),
        values=merged(values, given.values),
    )
