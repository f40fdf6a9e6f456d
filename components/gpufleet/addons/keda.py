"""Keda: KEDA by its chart."""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.render.keda_values import CHART, keda_values


class KedaArgs(TypedDict):
    """Inputs of `Keda`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    watched: NotRequired[bool]
    """Whether its own metrics get ServiceMonitors, whose definition must then be in the cluster.
    Default false."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(ChartChoice):
    """The arguments that must be known before deployment."""

    watched: bool = False


class Keda(ChartInOwnNamespace):
    """KEDA: namespace and Helm release, pinned. One per cluster.

    It takes the API service `external.metrics.k8s.io`; no other server of external metrics may be
    in the cluster.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(self, name: str, args: KedaArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: KedaArgs) -> ReleasePlan:
    given = checked(component, KedaArgs, args, _Declared)
    values = merged(keda_values(watched=given.watched), args.get("values", {}))
    return ReleasePlan(chart=chosen_chart(component, given, CHART), values=values)
