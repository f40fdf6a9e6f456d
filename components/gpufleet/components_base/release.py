"""The Helm release of a pinned chart, the base of every add-on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pulumi
from pulumi_kubernetes import _utilities as kubernetes_sdk

from gpufleet.components_base.charts import ChosenChart, chart_location
from gpufleet.components_base.cluster_objects import operator_namespace
from gpufleet.components_base.component import ComponentPlan, GpuComponent
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import image_values


class HelmRelease(pulumi.CustomResource):
    """A release of a chart, without the import of the SDK's module, 0.1 s at every start of a
    program. This class registers the same resource, with the inputs that this library sets.
    docs/decisions/2026-11-22-provider-resources.md has the figures."""

    name: pulumi.Output[str]
    """Name of the release in its namespace."""

    def __init__(self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        """Register it.

        Args:
            name: Name of the resource, unique in its stack.
            inputs: Inputs in the provider's spelling: `chart`, `name`, `namespace`, `values`, ...
            opts: Options.
        """
        super().__init__(
            "kubernetes:helm.sh/v3:Release",
            name,
            # The SDK's own class also sends this; without it a preview would show a difference.
            {"compat": "true", **inputs},
            pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts),
        )


TIMEOUT_SECONDS = 600
"""Timeout until a release is ready: pulling the operator's images, not a GPU driver."""


def chart_release(
    component: pulumi.ComponentResource,
    name: str,
    chart: ChosenChart,
    *,
    namespace: pulumi.Input[str],
    values: Mapping[str, Any],
    depends_on: Sequence[pulumi.Resource] = (),
    timeout_seconds: int = TIMEOUT_SECONDS,
) -> HelmRelease:
    """The Helm release of an add-on, with its chart's name.

    Args:
        component: Its parent.
        name: Name of the resource.
        chart: The chart.
        namespace: Namespace, which must exist.
        values: Helm values, merged over those that take images from a mirror.
        depends_on: Resources that must exist before, besides those in the arguments. Default: none.
        timeout_seconds: Timeout until it is ready. Default 600.
    """
    return HelmRelease(
        name,
        {
            "name": chart.pin.name,
            "namespace": namespace,
            "version": chart.version,
            "values": merged(image_values(chart.pin, chart.images), values),
            "timeout": timeout_seconds,
            **chart_location(chart.pin, chart.charts),
        },
        pulumi.ResourceOptions(parent=component, depends_on=list(depends_on)),
    )


def release_in_own_namespace(
    component: pulumi.ComponentResource, name: str, chart: ChosenChart, values: Mapping[str, Any]
) -> HelmRelease:
    """The release `<name>-release` in a new namespace, `<name>-namespace`."""
    namespace = operator_namespace(component, name, f"{name}-namespace", chart.pin.namespace)
    return chart_release(
        component,
        f"{name}-release",
        chart,
        namespace=namespace.metadata["name"],
        values=values,
    )


@dataclass(frozen=True, kw_only=True)
class ReleasePlan(ComponentPlan):
    """The release of an add-on's chart."""

    chart: ChosenChart
    values: Mapping[str, Any]
    """Helm values; they may contain Outputs."""
    namespace: pulumi.Input[str] | None = None
    """Namespace, which must exist. Default: the chart's own."""


AnyReleasePlan = TypeVar("AnyReleasePlan", bound=ReleasePlan)


class ChartComponent(GpuComponent[AnyReleasePlan]):
    """An add-on that is one release, with the outputs `release_name` and `chart_version`."""

    def _make(self, name: str, plan: AnyReleasePlan) -> Mapping[str, object]:
        release = chart_release(
            self,
            f"{name}-release",
            plan.chart,
            namespace=plan.chart.pin.namespace if plan.namespace is None else plan.namespace,
            values=plan.values,
        )
        return {"release_name": release.name, "chart_version": plan.chart.version}


class ChartInOwnNamespace(GpuComponent[ReleasePlan]):
    """An add-on that is one release in a new namespace, with the outputs `namespace` and
    `chart_version`."""

    def _make(self, name: str, plan: ReleasePlan) -> Mapping[str, object]:
        release_in_own_namespace(self, name, plan.chart, plan.values)
        return {"namespace": plan.chart.pin.namespace, "chart_version": plan.chart.version}
