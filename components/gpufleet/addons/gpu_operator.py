"""GpuOperator: the NVIDIA GPU Operator chart with typed values."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import ChartsArgs, GpuOperatorSettingsArgs, ImagesArgs
from gpufleet.components_base.addon_findings import judged
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import chart_release
from gpufleet.fleet.gpu_operator_rules import ADDON, judge_values
from gpufleet.fleet.raw_values import judge_contradictions
from gpufleet.render.gpu_operator_values import OperatorSettings, merged, operator_values
from gpufleet.spec.gpu_operator_keys import declared_path, typed_settings
from gpufleet.spec.secrets import judge_secrets


class OperandTolerationArgs(TypedDict):
    """A taint, with any value, that does not keep the operands away."""

    key: str
    """Key of the taint."""
    effect: str
    """Effect of the taint, `NoSchedule` or `NoExecute`."""


class GpuOperatorArgs(TypedDict):
    """Inputs of `GpuOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    settings: NotRequired[GpuOperatorSettingsArgs]
    """What it runs. Default: what the chart runs by default."""
    version: NotRequired[str]
    """Chart version, `v26.7.0`. Default: the catalogue's pin."""
    namespace: NotRequired[pulumi.Input[str]]
    """Namespace, which must exist and admit privileged pods. Default: `gpu-operator`."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's repository."""
    images: NotRequired[ImagesArgs]
    """Where images come from, and by which proxy. Default: the vendors' own."""
    device_plugin_config: NotRequired[pulumi.Input[str]]
    """Name of the ConfigMap with device-plugin configurations. Default: none."""
    device_plugin_default: NotRequired[str]
    """Key of the device-plugin ConfigMap for nodes that choose none. Default: none is applied."""
    mig_config: NotRequired[pulumi.Input[str]]
    """Name of the ConfigMap with mig-parted configurations. Default: the operator generates one
    for each node."""
    mig_strategy: NotRequired[str]
    """One of `single`, `mixed`: how MIG devices are named, for the whole cluster. Default: MIG
    devices are not advertised."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints that operands and Node Feature Discovery tolerate with any value, beside
    `nvidia.com/gpu`. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(OperatorSettings, ChartChoice):
    """The arguments that must be known before deployment."""


class GpuOperator(pulumi.ComponentResource):
    """NVIDIA GPU Operator: one Helm release, pinned, with typed values.

    One per cluster. The namespace and the ConfigMaps and Secrets it names must exist before;
    `GpuAddons` sees to namespace and ConfigMaps.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(
        self, name: str, args: GpuOperatorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install the chart.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'GpuOperator "{name}"'
        given = checked(component, GpuOperatorArgs, cast("dict[str, Any]", args), _Declared)
        chart = chosen_chart(component, given, "gpu-operator")
        raw = args.get("values", {})
        written = typed_settings(given.settings, written=True)
        typed = [(declared_path(field), key, value) for field, key, value in written]
        values = merged(operator_values(given), raw)
        warnings = judged(
            component,
            ADDON,
            [
                *judge_secrets(raw, f"{ADDON}.values"),
                *judge_contradictions(typed, raw, ADDON),
                *judge_values(values, raw, other_chart=chart.version != chart.pin.version),
            ],
        )
        # Written last where raw values name none: names may be Outputs, which cannot be judged.
        wiring: dict[str, Any] = {
            section: {"config": {"name": args[key]}}
            for section, key in (
                ("devicePlugin", "device_plugin_config"),
                ("migManager", "mig_config"),
            )
            if key in args
        }
        super().__init__("gpufleet:index:GpuOperator", name, {}, opts)
        for warning in warnings:
            pulumi.log.warn(warning, self)
        made = chart_release(
            self,
            f"{name}-release",
            chart,
            namespace=args.get("namespace", chart.pin.namespace),
            values=merged(merged(operator_values(given), wiring), raw),
        )
        self.release_name = cast("pulumi.Output[str]", made.name)
        self.chart_version = pulumi.Output.from_input(chart.version)
        self.register_outputs(
            {"releaseName": self.release_name, "chartVersion": self.chart_version}
        )
