"""NeuronDevicePlugin: AWS' device plugin for Trainium and Inferentia by its chart."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from gpufleet.arguments import NeuronDevicePluginArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.component import Options
from gpufleet.components_base.inputs import checked, refuse
from gpufleet.components_base.release import ChartComponent, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.neuron import recovery_without_detector
from gpufleet.render.neuron_values import CHART, SCHEDULER_NAME, neuron_values
from gpufleet.spec.chart_components import DeclaredNeuronPlugin


@dataclass(frozen=True, kw_only=True)
class NeuronPluginPlan(ReleasePlan):
    """The release of AWS Neuron's chart."""

    scheduler: bool
    """Whether it runs the scheduler extension."""


class NeuronDevicePlugin(ChartComponent[NeuronPluginPlan]):
    """AWS Neuron's device plugin, and on request the scheduler extension: one Helm release.

    One per cluster. Nodes advertise `aws.amazon.com/neuron` (devices) and
    `aws.amazon.com/neuroncore` (cores); a pod requests one of the two.
    """

    chart_version: pulumi.Output[str]
    """Requested version of the chart."""
    scheduler_name: pulumi.Output[str | None]
    """Value of `schedulerName` for pods that need adjacent devices. Absent without the
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
    given = checked(component, NeuronDevicePluginArgs, args, DeclaredNeuronPlugin)
    chart = chosen_chart(component, given, CHART)
    if given.node_recovery and not given.node_problem_detector:
        refuse(component, [recovery_without_detector("nodeRecovery")])
    values = neuron_values(
        scheduler=given.scheduler,
        node_problem_detector=given.node_problem_detector,
        node_recovery=given.node_recovery,
        tolerations=[
            {"key": t.key, "operator": "Exists", "effect": t.effect} for t in given.tolerations
        ],
        instance_types=given.instance_types,
    )
    return NeuronPluginPlan(
        chart=chart,
        values=merged(values, given.values),
        scheduler=given.scheduler,
    )
