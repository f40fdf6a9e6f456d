"""DraDriver: NVIDIA's DRA driver, and the classes and claims that replace the device plugin."""

from collections.abc import Mapping

import pulumi

from gpufleet.arguments import DraDriverArgs
from gpufleet.components_base.charts import ChosenChart, fleet_chart
from gpufleet.components_base.cluster_objects import ManifestObject, operator_namespace
from gpufleet.components_base.component import FleetPlan, GpuComponent, Options
from gpufleet.components_base.release import HelmRelease, chart_release
from gpufleet.contract.dra_api import GROUP, SERVED
from gpufleet.platforms.declarations import declared_fleet
from gpufleet.render.dra import (
    Manifest,
    claims,
    compute_domains,
    device_classes,
    device_taint_rules,
)
from gpufleet.render.dra_driver_values import CHART, dra_release_values, needs_dra_driver
from gpufleet.render.manifests import critical_pods_quota


class DraDriver(GpuComponent[FleetPlan]):
    """NVIDIA's DRA driver: namespace, Helm release, one DeviceClass for each MIG profile, and in
    the namespaces of the pools, claim templates or, if pods share a claim, the claims, and
    ComputeDomains.

    One per cluster; `GpuAddons` creates it when a pool needs it. The nodes must already have the
    GPU driver and its toolkit. If a GPUCluster of the operator runs the driver, only the classes
    and claims are created.
    """

    namespace: pulumi.Output[str]
    """Namespace of the driver."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""
    device_classes: pulumi.Output[list[str]]
    """Names of the DeviceClasses of this component; the chart also creates `gpu.nvidia.com`."""

    def __init__(self, name: str, args: DraDriverArgs, opts: Options = None) -> None:
        self._construct(name, declared_fleet(self.label(name), DraDriverArgs, args), opts)

    def _make(self, name: str, plan: FleetPlan) -> Mapping[str, object]:
        fleet = plan.fleet
        addon = fleet.spec.addons.dra_driver
        chart = fleet_chart(fleet, CHART, addon)
        release = self._release(name, plan, chart) if needs_dra_driver(fleet) else None
        classes = device_classes(fleet)
        for manifest in (*classes, *device_taint_rules(fleet)):
            opts = pulumi.ResourceOptions(parent=self, aliases=_other_versions(manifest))
            ManifestObject(f"{name}-{manifest['metadata']['name']}", manifest, opts)
        for manifest in (*claims(fleet), *compute_domains(fleet)):
            self._claim(name, manifest, release)
        return {
            "namespace": chart.pin.namespace,
            "chart_version": chart.version,
            "device_classes": [one["metadata"]["name"] for one in classes],
        }

    def _release(self, name: str, plan: FleetPlan, chart: ChosenChart) -> HelmRelease:
        fleet = plan.fleet
        namespace = operator_namespace(self, name, f"{name}-namespace", chart.pin.namespace)
        made_in = namespace.metadata["name"]
        before: list[pulumi.Resource] = []
        quota = critical_pods_quota(fleet, "dra-driver-quota", chart.pin.namespace)
        if quota is not None:
            quota["metadata"] |= {"namespace": made_in}
            opts = pulumi.ResourceOptions(parent=self)
            before.append(ManifestObject(f"{name}-quota", quota, opts))
        return chart_release(
            self,
            f"{name}-release",
            chart,
            namespace=made_in,
            values=dra_release_values(fleet),
            depends_on=before,
        )

    def _claim(self, name: str, manifest: Manifest, release: HelmRelease | None) -> None:
        metadata = manifest["metadata"]
        ManifestObject(
            f"{name}-{metadata['namespace']}-{metadata['name']}",
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                aliases=_other_versions(manifest),
                # The API refuses any change of the spec of a claim, a template or a domain.
                replace_on_changes=["spec"],
                delete_before_replace=True,
                depends_on=[] if release is None else [release],
            ),
        )


def _other_versions(manifest: Manifest) -> list[pulumi.Alias | pulumi.Input[str]]:
    """The object's types in the other versions of its API. Without them an update of Kubernetes to
    1.34 would create the object and then delete it under its former type."""
    if not manifest["apiVersion"].startswith(GROUP):
        return []
    others = (f"{GROUP}{version}" for version in SERVED)
    return [
        pulumi.Alias(type_=f"kubernetes:{other}:{manifest['kind']}")
        for other in others
        if other != manifest["apiVersion"]
    ]
