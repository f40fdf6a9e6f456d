"""What every add-on is made of: the release of a pinned chart."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pulumi

from gpufleet.components_base.charts import ChosenChart, chart_location
from gpufleet.components_base.helm_release import HelmRelease
from gpufleet.components_base.namespaces import operator_namespace

TIMEOUT_SECONDS = 600
"""How long a release may take to become ready: pulling the operator's images, not a GPU driver."""


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
    """The Helm release of an add-on, called as its chart is.

    Args:
        component: Its parent.
        name: Name of the resource.
        chart: The chart.
        namespace: Namespace, which must exist.
        values: Helm values.
        depends_on: What must be there before, beside what the arguments name. Default: nothing.
        timeout_seconds: How long it may take to become ready. Default 600.
    """
    return HelmRelease(
        name,
        {
            "name": chart.pin.name,
            "namespace": namespace,
            "version": chart.version,
            "values": values,
            "timeout": timeout_seconds,
            **chart_location(chart.pin, chart.charts),
        },
        pulumi.ResourceOptions(parent=component, depends_on=list(depends_on)),
    )


def release_in_own_namespace(
    component: pulumi.ComponentResource, name: str, chart: ChosenChart, values: Mapping[str, Any]
) -> HelmRelease:
    """The release `<name>-release` in a namespace that is made for it, `<name>-namespace`."""
    namespace = operator_namespace(component, name, f"{name}-namespace", chart.pin.namespace)
    return chart_release(
        component,
        f"{name}-release",
        chart,
        namespace=cast("Any", namespace.metadata)["name"],
        values=values,
    )
