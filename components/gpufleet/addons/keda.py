"""Keda: KEDA by its chart. GpuScaledObject: replicas or jobs by a query, down to zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.arguments import GpuScaledObjectArgs, KedaArgs
from gpufleet.components_base.charts import chosen_chart
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import ChartInOwnNamespace, ReleasePlan
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.scaling_rules import validate_scaling
from gpufleet.render.keda_values import CHART, keda_values
from gpufleet.render.scaled_object import scaled_job, scaled_object, trigger_authentication
from gpufleet.spec.chart_components import DeclaredKeda
from gpufleet.spec.components import DeclaredGpuScaledObject
from gpufleet.spec.scaling import KedaScaling


@dataclass(frozen=True, kw_only=True)
class ScaledObjectPlan(ComponentPlan):
    """The scaled workload, validated."""

    scaling: KedaScaling
    job: dict[str, Any] | None
    """Specification of the Job of a ScaledJob; None creates a ScaledObject."""


class GpuScaledObject(GpuComponent[ScaledObjectPlan]):
    """KEDA's ScaledObject, or ScaledJob with `job`, and the TriggerAuthentication that it needs.

    The cluster must have KEDA: `addons.keda` of a fleet installs it. A workload may have only one
    autoscaler, so no HorizontalPodAutoscaler besides it.
    """

    scaler: pulumi.Output[str]
    """The object, `<namespace>/<name>`."""

    def __init__(self, name: str, args: GpuScaledObjectArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: ScaledObjectPlan) -> Mapping[str, object]:
        scaling, job = plan.scaling, plan.job
        before: list[pulumi.Resource] = []
        authentication = trigger_authentication(scaling)
        if authentication is not None:
            own = pulumi.ResourceOptions(parent=self)
            before.append(ManifestObject(f"{name}-authentication", authentication, own))
        made = scaled_object(scaling) if job is None else scaled_job(scaling, job)
        ManifestObject(
            f"{name}-scaler", made, pulumi.ResourceOptions(parent=self, depends_on=before)
        )
        return {"scaler": f"{made['metadata']['namespace']}/{made['metadata']['name']}"}


def _planned(component: str, args: GpuScaledObjectArgs) -> ScaledObjectPlan:
    given = checked(component, GpuScaledObjectArgs, args, DeclaredGpuScaledObject)
    scaling = given.scaling
    findings = validate_scaling(scaling, scaling.target.name)
    return ScaledObjectPlan(
        scaling=scaling,
        job=given.job,
        warnings=accepted(component, findings),
    )


class Keda(ChartInOwnNamespace):
    """KEDA: namespace and Helm release, pinned. One per cluster.

    It owns the API service `external.metrics.k8s.io`; the cluster may have no other server of
    external metrics.
    """

    namespace: pulumi.Output[str]
    """Namespace of the operator."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""

    def __init__(self, name: str, args: KedaArgs, opts: Options = None) -> None:
        self._construct(name, _keda_plan(self.label(name), args), opts)


def _keda_plan(component: str, args: KedaArgs) -> ReleasePlan:
    given = checked(component, KedaArgs, args, DeclaredKeda)
    values = merged(keda_values(watched=given.watched), given.values)
    return ReleasePlan(chart=chosen_chart(component, given, CHART), values=values)
