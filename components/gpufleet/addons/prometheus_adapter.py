"""PrometheusAdapter: the signals of pods as metrics that autoscalers of Kubernetes read."""

import pulumi

from gpufleet.arguments import PrometheusAdapterArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.render.prometheus_adapter_rules import CHART, adapter_values
from gpufleet.spec.chart_components import DeclaredPrometheusAdapter


class PrometheusAdapter(ChartInOwnNamespace):
    """prometheus-adapter by its chart, with rules for every signal that pods give. One per cluster.

    It serves `custom.metrics.k8s.io` only, so that KEDA and metrics-server keep their own APIs.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(self, name: str, args: PrometheusAdapterArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: PrometheusAdapterArgs) -> ReleasePlan:
    given = checked(component, PrometheusAdapterArgs, args, DeclaredPrometheusAdapter)
    values = adapter_values(given.address, given.interval_seconds)
    return ReleasePlan(
        chart=chosen_chart(component, given, CHART),
        values=merged(values, args.get("values", {})),
    )
