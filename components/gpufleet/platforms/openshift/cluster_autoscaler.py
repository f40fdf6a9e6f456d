"""OpenShiftClusterAutoscaler: the object that starts OpenShift's own autoscaler, and bounds it."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import ClusterAutoscalerOptionsArgs, GpuPoolArgs
from gpufleet.components_base.declarations import compiled_declarations
from gpufleet.components_base.inputs import declared, refuse
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.findings import error
from gpufleet.fleet import Fleet
from gpufleet.platforms.openshift.cluster_autoscaler_manifest import (
    NAME,
    cluster_autoscaler,
    scaled_on_openshift,
)


class OpenShiftClusterAutoscalerArgs(TypedDict):
    """Inputs of `OpenShiftClusterAutoscaler`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster: its limits are those of all together."""
    settings: NotRequired[ClusterAutoscalerOptionsArgs]
    """How it chooses. Default: the pool that leaves the least idle."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.35"` for OpenShift 4.22. Default: 1.36."""


class OpenShiftClusterAutoscaler(pulumi.ComponentResource):
    """The ClusterAutoscaler `default` of an OpenShift cluster: one per cluster.

    It starts the autoscaler that OpenShift brings; the MachineAutoscalers of
    `OpenShiftGpuMachineSet` say which sets it moves, and between which bounds.
    """

    gpu_limits: pulumi.Output[dict[str, int]]
    """Type of GPU -> most of them, counted as nodes offer them."""

    def __init__(
        self,
        name: str,
        args: OpenShiftClusterAutoscalerArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Fleet | None = None,
    ) -> None:
        """Make the object.

        Args:
            name: Name of the component, unique in its stack.
            args: The declarations.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.
            compiled: What the declarations mean, when the caller has compiled them already.

        Raises:
            InvalidArgumentsError: a declaration has an error, or no pool is scaled; the text holds
                all of them.
        """
        component = f'OpenShiftClusterAutoscaler "{name}"'
        given = declared(component, OpenShiftClusterAutoscalerArgs, cast("Mapping[str, Any]", args))
        fleet = compiled or compiled_declarations(
            component,
            {
                **{key: value for key, value in given.items() if key != "settings"},
                "platform": "openshift",
                "addons": {"clusterAutoscaler": given.get("settings", {})},
            },
        )
        manifest = cluster_autoscaler(fleet.pools, fleet.spec.addons.cluster_autoscaler)
        if manifest is None:
            refuse(
                component,
                [
                    error(
                        "openshift-nothing-to-scale",
                        "pools",
                        "nodes.min is nodes.max in every pool: an autoscaler would have nothing to "
                        "do",
                        "remove the component, or let a pool grow",
                    )
                ],
            )
        super().__init__("gpufleet:index:OpenShiftClusterAutoscaler", name, {}, opts)
        ManifestObject(f"{name}-{NAME}", manifest, pulumi.ResourceOptions(parent=self))
        limits = manifest["spec"].get("resourceLimits", {}).get("gpus", [])
        self.gpu_limits = pulumi.Output.from_input({one["type"]: one["max"] for one in limits})
        self.register_outputs({"gpuLimits": self.gpu_limits})


def is_scaled(fleet: Fleet) -> bool:
    """Whether any pool of the fleet is scaled by it."""
    return bool(scaled_on_openshift(fleet.pools))
