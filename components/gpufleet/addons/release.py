"""What every add-on is made of: the release of a pinned chart, and objects of custom kinds."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet.addons.charts import chart_location
from gpufleet.catalogue.model import Chart
from gpufleet.spec.addons import Charts

TIMEOUT_SECONDS = 600
"""How long a release may take to become ready: pulling the operator's images, not a GPU driver."""


def chart_release(
    component: pulumi.ComponentResource,
    name: str,
    pin: Chart,
    charts: Charts,
    *,
    version: str,
    namespace: pulumi.Input[str],
    values: Mapping[str, Any],
) -> kubernetes.helm.v3.Release:
    """The Helm release `<name>-release` of an add-on.

    Args:
        component: Its parent.
        name: Name of the add-on's component.
        pin: The chart; the release is called as it is.
        charts: Where charts come from.
        version: Version of the chart, the pin's or another.
        namespace: Namespace, which must exist.
        values: Helm values.
    """
    return kubernetes.helm.v3.Release(
        f"{name}-release",
        name=pin.name,
        namespace=namespace,
        version=version,
        values=values,
        timeout=TIMEOUT_SECONDS,
        **chart_location(pin, charts),
        opts=pulumi.ResourceOptions(parent=component),
    )


def custom_object(
    name: str, document: Mapping[str, Any], opts: pulumi.ResourceOptions
) -> kubernetes.apiextensions.CustomResource:
    """An object of a kind the SDK has no class for, from its manifest."""
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version=document["apiVersion"],
        kind=document["kind"],
        metadata=document["metadata"],
        spec=document["spec"],
        opts=opts,
    )
