"""NimOperator: NVIDIA's NIM operator by its chart."""

import pulumi

from gpufleet.arguments import NimOperatorArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.spec.chart_components import DeclaredNimOperator

CHART = "k8s-nim-operator"


class NimOperator(ChartInOwnNamespace):
    """NVIDIA NIM operator: namespace and Helm release, pinned. One per cluster."""

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""

    def __init__(self, name: str, args: NimOperatorArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: NimOperatorArgs) -> ReleasePlan:
    given = checked(component, NimOperatorArgs, args, DeclaredNimOperator)
    chart = chosen_chart(component, given, CHART)
    return ReleasePlan(chart=chart, values=args.get("values", {}))
