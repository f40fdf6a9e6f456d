"""GpuHorizontalPodAutoscaler: replicas by what the pods say of themselves."""

from typing import Any, TypedDict, cast

import pulumi

from gpufleet.arguments import ScalingArgs
from gpufleet.components_base.addon_findings import judged
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.fleet.scaling_rules import judge_scaling
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


class GpuHorizontalPodAutoscaler(pulumi.ComponentResource):
    """An autoscaler of Kubernetes by a signal that fits the workload, at the pace its start allows.

    The metrics come through prometheus-adapter, whose rules `gpufleet` renders
    (docs/autoscaling.md). Only one autoscaler may have a workload: no ScaledObject beside it.
    """

    autoscaler: pulumi.Output[str]
    """Name of the HorizontalPodAutoscaler, `<namespace>/<name>`."""

    def __init__(
        self,
        name: str,
        args: GpuHorizontalPodAutoscalerArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Make the autoscaler.

        Args:
            name: Name of the component, unique in its stack.
            args: The declaration.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'GpuHorizontalPodAutoscaler "{name}"'
        given = checked(
            component, GpuHorizontalPodAutoscalerArgs, cast("dict[str, Any]", args), _Declared
        ).scaling
        warnings = judged(component, "scaling", judge_scaling(given, given.target.name))
        super().__init__("gpufleet:index:GpuHorizontalPodAutoscaler", name, {}, opts)
        for warning in warnings:
            pulumi.log.warn(warning, self)
        made = horizontal_pod_autoscaler(given)
        ManifestObject(f"{name}-autoscaler", made, pulumi.ResourceOptions(parent=self))
        self.autoscaler = pulumi.Output.from_input(
            f"{made['metadata']['namespace']}/{made['metadata']['name']}"
        )
        self.register_outputs({"autoscaler": self.autoscaler})
