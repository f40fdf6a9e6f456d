"""OpenShiftClusterAutoscaler: the object that starts OpenShift's own autoscaler, and limits it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import OpenShiftClusterAutoscalerArgs
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options
from gpufleet.components_base.inputs import declared, refuse
from gpufleet.findings import findings_in
from gpufleet.fleet import Fleet
from gpufleet.platforms.declarations import CLUSTER, compiled_declarations
from gpufleet.platforms.openshift.cluster_autoscaler_manifest import (
    NAME,
    cluster_autoscaler,
)
from gpufleet.spec.base import Platform

_finding = findings_in(__file__)


@dataclass(frozen=True, kw_only=True)
class OpenShiftAutoscalerPlan(ComponentPlan):
    """The ClusterAutoscaler of one cluster."""

    manifest: Mapping[str, Any]


class OpenShiftClusterAutoscaler(GpuComponent[OpenShiftAutoscalerPlan]):
    """The ClusterAutoscaler `default` of an OpenShift cluster: one per cluster.

    It starts OpenShift's autoscaler; the MachineAutoscalers of `OpenShiftGpuMachineSet` define the
    sets that it scales, and their bounds.
    """

    gpu_limits: pulumi.Output[dict[str, int]]
    """Type of GPU -> maximum number, counted as nodes offer them."""

    def __init__(
        self, name: str, args: OpenShiftClusterAutoscalerArgs, opts: Options = None
    ) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: OpenShiftAutoscalerPlan) -> Mapping[str, object]:
        opts = pulumi.ResourceOptions(parent=self)
        ManifestObject(f"{name}-{NAME}", plan.manifest, opts)
        limits = plan.manifest["spec"].get("resourceLimits", {}).get("gpus", [])
        return {"gpu_limits": {one["type"]: one["max"] for one in limits}}


def openshift_autoscaler_plan(fleet: Fleet) -> OpenShiftAutoscalerPlan | None:
    """None if no pool of the fleet is scaled."""
    manifest = cluster_autoscaler(fleet.pools, fleet.spec.addons.cluster_autoscaler)
    return None if manifest is None else OpenShiftAutoscalerPlan(manifest=manifest)


def _planned(component: str, args: OpenShiftClusterAutoscalerArgs) -> OpenShiftAutoscalerPlan:
    given = declared(component, OpenShiftClusterAutoscalerArgs, args)
    fleet = compiled_declarations(
        component,
        {
            **{key: value for key, value in given.items() if key != "settings"},
            "platform": given.get("platform", Platform.OPENSHIFT.value),
            "addons": {"clusterAutoscaler": given.get("settings", {})},
        },
        {**CLUSTER, "addons.clusterAutoscaler": "settings"},
    )
    plan = openshift_autoscaler_plan(fleet)
    if plan is None:
        refuse(
            component,
            [_finding("openshift-nothing-to-scale")],
        )
    return plan
