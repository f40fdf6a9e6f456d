"""NimOperator: NVIDIA's NIM operator by its chart."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import release_in_own_namespace

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


class NimOperator(pulumi.ComponentResource):
    """NVIDIA NIM operator: namespace and Helm release, pinned. One per cluster."""

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(
        self, name: str, args: NimOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the chart.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'NimOperator "{name}"'
        given = checked(component, NimOperatorArgs, cast("dict[str, Any]", args), ChartChoice)
        chart = chosen_chart(component, given, CHART)
        values = args.get("values", {})
        super().__init__("gpufleet:index:NimOperator", name, {}, opts)
        release_in_own_namespace(self, name, chart, values)
        self.namespace = pulumi.Output.from_input(chart.pin.namespace)
        self.chart_version = pulumi.Output.from_input(chart.version)
        self.register_outputs({"namespace": self.namespace, "chartVersion": self.chart_version})
