"""GpuHorizontalPodAutoscaler: replicas by what the pods say of themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import pulumi

from gpufleet.arguments import ScalingArgs
from gpufleet.components_base.addon_findings import in_own_words
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.fleet.scaling_rules import validate_scaling
from gpufleet.render.horizontal_pod_autoscaler import horizontal_pod_autoscaler
from gpufleet.spec.base import SpecModel
from gpufleet.spec.scaling import Scaling


class GpuHorizontalPodAutoscalerArgs(TypedDict):
    """Inputs of `GpuHorizontalPodAutoscaler`."""

    scaling: ScalingArgs
    """What is scaled, between which sizes, by which signal."""


class _Declared(SpecModel):
    """The arguments that must be known before deployment."""

    scaling: Scaling


@dataclass(frozen=True, kw_only=True)
class HorizontalPodAutoscalerPlan(ComponentPlan):
    """What is scaled, validated."""

    scaling: Scaling


class GpuHorizontalPodAutoscaler(GpuComponent[HorizontalPodAutoscalerPlan]):
    """An autoscaler of Kubernetes by a signal that fits the workload, at the pace its start allows.

    The metrics come through prometheus-adapter, whose rules `gpufleet` renders
    (docs/autoscaling.md). Only one autoscaler may have a workload: no ScaledObject next to it.
    """

    autoscaler: pulumi.Output[str]
    """Name of the HorizontalPodAutoscaler, `<namespace>/<name>`."""

    def __init__(
        self, name: str, args: GpuHorizontalPodAutoscalerArgs, opts: Options = None
    ) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: HorizontalPodAutoscalerPlan) -> Mapping[str, object]:
        made = horizontal_pod_autoscaler(plan.scaling)
        ManifestObject(f"{name}-autoscaler", made, pulumi.ResourceOptions(parent=self))
        return {"autoscaler": f"{made['metadata']['namespace']}/{made['metadata']['name']}"}


def _planned(component: str, args: GpuHorizontalPodAutoscalerArgs) -> HorizontalPodAutoscalerPlan:
    scaling = checked(component, GpuHorizontalPodAutoscalerArgs, args, _Declared).scaling
    findings = validate_scaling(scaling, scaling.target.name)
    return HorizontalPodAutoscalerPlan(
        scaling=scaling, warnings=accepted(component, in_own_words("scaling", findings))
    )
