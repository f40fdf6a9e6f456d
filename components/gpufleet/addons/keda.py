"""Keda: KEDA by its chart."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import release_in_own_namespace
from gpufleet.fleet.chart_values import merged
from gpufleet.render.keda_values import keda_values

CHART = "keda"


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


class Keda(pulumi.ComponentResource):
    """KEDA: namespace and Helm release, pinned. One per cluster.

    It takes the API service `external.metrics.k8s.io`; no other server of external metrics may be
    in the cluster.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(
        self, name: str, args: KedaArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the chart.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'Keda "{name}"'
        given = checked(component, KedaArgs, cast("dict[str, Any]", args), _Declared)
        chart = chosen_chart(component, given, CHART)
        values = merged(keda_values(watched=given.watched), args.get("values", {}))
        super().__init__("gpufleet:index:Keda", name, {}, opts)
        release_in_own_namespace(self, name, chart, values)
        self.namespace = pulumi.Output.from_input(chart.pin.namespace)
        self.chart_version = pulumi.Output.from_input(chart.version)
        self.register_outputs({"namespace": self.namespace, "chartVersion": self.chart_version})
