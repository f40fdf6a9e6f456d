"""GpuScaledObject: replicas or jobs by a query, down to zero, through KEDA."""

from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import KedaScalingArgs
from gpufleet.components_base.addon_findings import judged
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.fleet.scaling_rules import judge_scaling
from gpufleet.render.scaled_object import scaled_job, scaled_object, trigger_authentication
from gpufleet.spec.base import SpecModel
from gpufleet.spec.scaling import KedaScaling


class GpuScaledObjectArgs(TypedDict):
    """Inputs of `GpuScaledObject`."""

    scaling: KedaScalingArgs
    """What is scaled, between which sizes, by which signal."""
    job: NotRequired[dict[str, Any]]
    """Specification of a Job: makes a ScaledJob, one Job for each piece of work, instead of scaling
    a workload. Default: none."""


class _Declared(SpecModel):
    """The arguments that must be known before deployment."""

    scaling: KedaScaling


class GpuScaledObject(pulumi.ComponentResource):
    """KEDA's ScaledObject, or ScaledJob with `job`, and the TriggerAuthentication that it needs.

    KEDA must be in the cluster: `addons.keda` of a fleet installs it. Only one autoscaler may have
    a workload: no HorizontalPodAutoscaler beside it.
    """

    scaler: pulumi.Output[str]
    """The object, `<namespace>/<name>`."""

    def __init__(
        self, name: str, args: GpuScaledObjectArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Make KEDA's objects.

        Args:
            name: Name of the component, unique in its stack.
            args: The declaration.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'GpuScaledObject "{name}"'
        given = checked(
            component, GpuScaledObjectArgs, cast("dict[str, Any]", args), _Declared
        ).scaling
        warnings = judged(component, "scaling", judge_scaling(given, given.target.name))
        super().__init__("gpufleet:index:GpuScaledObject", name, {}, opts)
        for warning in warnings:
            pulumi.log.warn(warning, self)
        before: list[pulumi.Resource] = []
        authentication = trigger_authentication(given)
        if authentication is not None:
            own = pulumi.ResourceOptions(parent=self)
            before.append(ManifestObject(f"{name}-authentication", authentication, own))
        job = args.get("job")
        made = scaled_object(given) if job is None else scaled_job(given, job)
        ManifestObject(
            f"{name}-scaler", made, pulumi.ResourceOptions(parent=self, depends_on=before)
        )
        self.scaler = pulumi.Output.from_input(
            f"{made['metadata']['namespace']}/{made['metadata']['name']}"
        )
        self.register_outputs({"scaler": self.scaler})
