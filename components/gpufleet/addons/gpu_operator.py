"""GpuOperator: the NVIDIA GPU Operator chart with typed values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.arguments import GpuOperatorArgs
from gpufleet.components_base.charts import ChosenChart, chosen_chart
from gpufleet.components_base.component import Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.refused_arguments import in_own_words, own_words_of
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.gpu_operator_chart import (
    DeclaredGpuOperator,
    DeclaredOperator,
    OperatorSettings,
    operator_values,
)
from gpufleet.fleet.gpu_operator_rules import ADDON, validate_contradictions, validate_values
from gpufleet.spec.gpu_operator_keys import declared_path, typed_settings
from gpufleet.spec.secrets import validate_secrets

CHART = "gpu-operator"


@dataclass(frozen=True, slots=True)
class OperatorWiring:
    """Names that other resources give: they may be Outputs."""

    namespace: pulumi.Input[str] | None = None
    """Default: the chart's own."""
    device_plugin_config: pulumi.Input[str] | None = None
    """ConfigMap with device-plugin configurations. Default: none."""
    mig_config: pulumi.Input[str] | None = None
    """ConfigMap with mig-parted configurations. Default: none."""

    def values(self) -> dict[str, Any]:
        """The Helm values that name the ConfigMaps."""
        named = {"devicePlugin": self.device_plugin_config, "migManager": self.mig_config}
        return {
            section: {"config": {"name": name}}
            for section, name in named.items()
            if name is not None
        }


class GpuOperator(ChartComponent[ReleasePlan]):
    """NVIDIA GPU Operator: one Helm release, pinned, with typed values.

    One per cluster. The namespace and the ConfigMaps and Secrets it names must exist before;
    `GpuAddons` sees to namespace and ConfigMaps.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""

    def __init__(self, name: str, args: GpuOperatorArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)


def gpu_operator_plan(
    component: str,
    chart: ChosenChart,
    settings: OperatorSettings,
    wiring: OperatorWiring,
    raw: Mapping[str, Any],
) -> ReleasePlan:
    """The release of a chart, with raw values merged last.

    Raises InvalidArgumentsError when settings and raw values cannot work together.
    """
    written = typed_settings(settings.settings, written=True)
    typed = [(declared_path(field), key, value) for field, key, value in written]
    values = operator_values(settings)
    warnings = accepted(
        component,
        in_own_words(
            own_words_of(ADDON),
            [
                *validate_secrets(raw, f"{ADDON}.values"),
                *validate_contradictions(typed, raw, ADDON),
                *validate_values(merged(values, raw), raw, chart.version),
            ],
        ),
    )
    # Names are merged after validation: they may be Outputs. Raw values are last again.
    return ReleasePlan(
        chart=chart,
        values=merged(merged(values, wiring.values()), raw),
        namespace=wiring.namespace,
        warnings=warnings,
    )


def _planned(component: str, args: GpuOperatorArgs) -> ReleasePlan:
    given = checked(component, GpuOperatorArgs, args, DeclaredGpuOperator)
    wiring = OperatorWiring(given.namespace, given.device_plugin_config, given.mig_config)
    chart = chosen_chart(component, given, CHART, given.images)
    typed = {name: getattr(given, name) for name in DeclaredOperator.model_fields}
    settings = OperatorSettings.model_construct(**typed)
    return gpu_operator_plan(component, chart, settings, wiring, given.values)
