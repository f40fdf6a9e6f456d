"""PrometheusAdapter: the signals of pods as metrics that autoscalers of Kubernetes read."""

from typing import Annotated, Any, NotRequired, TypedDict

import pulumi
from pydantic import Field

from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.render.prometheus_adapter_rules import CHART, adapter_values


class PrometheusAdapterArgs(TypedDict):
    """Inputs of `PrometheusAdapter`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    address: str
    """Where Prometheus answers queries: `http://prometheus.monitoring.svc:9090`."""
    interval_seconds: NotRequired[int]
    """How often Prometheus scrapes: names are not listed again sooner. Default 30."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(ChartChoice):
    """The arguments that must be known before deployment."""

    address: Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$")]
    interval_seconds: int = Field(default=30, ge=5, le=300)


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
    given = checked(component, PrometheusAdapterArgs, args, _Declared)
    values = adapter_values(given.address, given.interval_seconds)
    return ReleasePlan(
        chart=chosen_chart(component, given, CHART),
        values=merged(values, args.get("values", {})),
    )
