"""Keda: KEDA by its chart."""

import pulumi

from gpufleet.arguments import KedaArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.render.keda_values import CHART, keda_values
from gpufleet.spec.chart_components import DeclaredKeda


class Keda(ChartInOwnNamespace):
    """KEDA: namespace and Helm release, pinned. One per cluster.

    It owns the API service `external.metrics.k8s.io`; the cluster may have no other server of
    external metrics.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""

    def __init__(self, name: str, args: KedaArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: KedaArgs) -> ReleasePlan:
    given = checked(component, KedaArgs, args, DeclaredKeda)
    values = merged(keda_values(watched=given.watched), args.get("values", {}))
    return ReleasePlan(chart=chosen_chart(component, given, CHART), values=values)
