"""NimOperator: NVIDIA's NIM operator by its chart."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pydantic import Field

from gpufleet.addons.charts import pinned
from gpufleet.addons.namespaces import operator_namespace
from gpufleet.addons.release import chart_release
from gpufleet.arguments import ChartsArgs
from gpufleet.inputs import checked
from gpufleet.spec.addons import Charts
from gpufleet.spec.base import SpecModel

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


class _Declared(SpecModel):
    """The arguments that must be known before deployment."""

    catalogue: str
    version: str | None = None
    charts: Charts = Field(default_factory=Charts)


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
        given = checked(component, NimOperatorArgs, cast("dict[str, Any]", args), _Declared)
        pin = pinned(component, given.catalogue, CHART)
        version = given.version or pin.version
        super().__init__("gpufleet:index:NimOperator", name, {}, opts)
        namespace = operator_namespace(self, name, f"{name}-namespace", pin.namespace)
        chart_release(
            self,
            name,
            pin,
            given.charts,
            version=version,
            namespace=cast("Any", namespace.metadata)["name"],
            values=args.get("values", {}),
        )
        self.namespace = pulumi.Output.from_input(pin.namespace)
        self.chart_version = pulumi.Output.from_input(version)
        self.register_outputs({"namespace": self.namespace, "chartVersion": self.chart_version})
