"""NeuronDevicePlugin: AWS' device plugin for Trainium and Inferentia by its chart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.addons.gpu_operator import OperandTolerationArgs
from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked, refuse
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.neuron import recovery_without_detector
from gpufleet.render.neuron_values import CHART, SCHEDULER_NAME, neuron_values


class NeuronDevicePluginArgs(TypedDict):
    """Inputs of `NeuronDevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    scheduler: NotRequired[bool]
    """Run the scheduler extension, which puts pods on neighbouring devices; they name it as
    `schedulerName`. Default false."""
    node_problem_detector: NotRequired[bool]
    """Watch the devices' errors. Default true, as the chart has it."""
    node_recovery: NotRequired[bool]
    """Replace nodes whose devices fail; needs the detector and rights in EC2. Default false."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints tolerated with any value, next to `aws.amazon.com/neuron`. Default: none."""
    instance_types: NotRequired[list[str]]
    """Instance types of the nodes it runs on. Default: the chart's own list, which ends before
    newer ones."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: AWS' public registry."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(ChartChoice):
    """The arguments that must be known before deployment."""

    scheduler: bool = False
    node_problem_detector: bool = True
    node_recovery: bool = False
    tolerations: tuple[dict[str, str], ...] = ()
    instance_types: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NeuronPluginPlan(ReleasePlan):
    """The release of AWS Neuron's chart."""

    scheduler: bool
    """Whether it runs the scheduler extension."""


class NeuronDevicePlugin(ChartComponent[NeuronPluginPlan]):
    """AWS Neuron's device plugin, and on request the scheduler extension: one Helm release.

    One per cluster. Nodes advertise `aws.amazon.com/neuron` (devices) and
    `aws.amazon.com/neuroncore` (cores); a pod asks for one of the two.
    """

    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""
    scheduler_name: pulumi.Output[str | None]
    """What pods write as `schedulerName` to get neighbouring devices. Absent without the
    extension."""

    def __init__(self, name: str, args: NeuronDevicePluginArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: NeuronPluginPlan) -> Mapping[str, object]:
        outputs = super()._make(name, plan)
        return {
            "chart_version": outputs["chart_version"],
            "scheduler_name": SCHEDULER_NAME if plan.scheduler else None,
        }


def _planned(component: str, args: NeuronDevicePluginArgs) -> NeuronPluginPlan:
    given = checked(component, NeuronDevicePluginArgs, args, _Declared)
    chart = chosen_chart(component, given, CHART)
    if given.node_recovery and not given.node_problem_detector:
        refuse(component, [recovery_without_detector("nodeRecovery")])
    values = neuron_values(
        scheduler=given.scheduler,
        node_problem_detector=given.node_problem_detector,
        node_recovery=given.node_recovery,
        tolerations=[
            {"key": t["key"], "operator": "Exists", "effect": t["effect"]}
            for t in given.tolerations
        ],
        instance_types=given.instance_types,
    )
    return NeuronPluginPlan(
        chart=chart,
        values=merged(values, args.get("values", {})),
        scheduler=given.scheduler,
    )
