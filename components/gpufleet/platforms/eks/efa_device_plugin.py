"""EfaDevicePlugin: what makes nodes advertise their EFA interfaces."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pydantic import Field

from gpufleet.addons.gpu_operator import OperandTolerationArgs
from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import chart_release
from gpufleet.platforms.eks.efa_device_plugin_values import efa_device_plugin_values
from gpufleet.render.gpu_operator_values import merged
from gpufleet.spec.base import SpecModel


class EfaDevicePluginArgs(TypedDict):
    """Inputs of `EfaDevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    instance_types: list[str]
    """Instance types of the nodes it runs on; the chart's own list ends before newer ones."""
    version: NotRequired[str]
    """Chart version, `v0.5.20`. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints it tolerates with any value, beside `nvidia.com/gpu`. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Toleration(SpecModel):
    key: str
    effect: str


class _Declared(ChartChoice):
    """The arguments that must be known before deployment."""

    instance_types: tuple[str, ...] = Field(min_length=1)
    tolerations: tuple[_Toleration, ...] = ()


class EfaDevicePlugin(pulumi.ComponentResource):
    """AWS EFA device plugin: without it a node has its EFA interfaces, and no pod can ask for them
    as `vpc.amazonaws.com/efa`.

    One Helm release per cluster, on the named instance types only. Pods that use EFA must ask for
    `hugepages-2Mi` as well: the driver sets pages aside.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(
        self, name: str, args: EfaDevicePluginArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the chart.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'EfaDevicePlugin "{name}"'
        given = checked(component, EfaDevicePluginArgs, cast("dict[str, Any]", args), _Declared)
        chart = chosen_chart(component, given, "aws-efa-k8s-device-plugin")
        values = efa_device_plugin_values(
            given.instance_types, [(one.key, one.effect) for one in given.tolerations]
        )
        super().__init__("gpufleet:index:EfaDevicePlugin", name, {}, opts)
        made = chart_release(
            self,
            f"{name}-release",
            chart,
            namespace=chart.pin.namespace,
            values=merged(values, args.get("values", {})),
        )
        self.release_name = cast("pulumi.Output[str]", made.name)
        self.chart_version = pulumi.Output.from_input(chart.version)
        self.register_outputs(
            {"releaseName": self.release_name, "chartVersion": self.chart_version}
        )
