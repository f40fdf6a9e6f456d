"""NimOperator: NVIDIA's NIM operator by its chart."""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan

CHART = "k8s-nim-operator"


class NimOperatorArgs(TypedDict):
    """Inputs of `NimOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values. Default: none, the chart's own."""


class NimOperator(ChartInOwnNamespace):
    """NVIDIA NIM operator: namespace and Helm release, pinned. One per cluster."""

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(self, name: str, args: NimOperatorArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def _planned(component: str, args: NimOperatorArgs) -> ReleasePlan:
    given = checked(component, NimOperatorArgs, args, ChartChoice)
    chart = chosen_chart(component, given, CHART)
    return ReleasePlan(chart=chart, values=args.get("values", {}))
