"""GpuAddons: what exists once per cluster so that its GPU pools work."""

from importlib import resources
from typing import Any, NotRequired, TypedDict, cast

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet.addons.gpu_operator import GpuOperator, GpuOperatorArgs
from gpufleet.arguments import AddonsArgs, ChartsArgs, GpuPoolArgs
from gpufleet.fleet import Fleet, compile_data
from gpufleet.inputs import declared, refuse
from gpufleet.render.gpu_operator_values import (
    ConfigFiles,
    fleet_operator_settings,
    mig_parted_files,
    plugin_files,
)
from gpufleet.spec.base import Ownership, Platform

PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""The operands mount host paths and load kernel modules (NVIDIA GPU Operator documentation)."""


class GpuAddonsArgs(TypedDict):
    """Inputs of `GpuAddons`."""

    catalogue: str
    """Edition of facts and pins, `"2026.11"`."""
    platform: str
    """One of `eks`, `gke`, `vsphere`, `openshift`, `sandbox`."""
    pools: list[GpuPoolArgs]
    """Declarations of every GPU pool of the cluster, whoever makes it: the add-ons know only the
    layouts and ways of sharing of these."""
    addons: NotRequired[AddonsArgs]
    """Overrides of what the pools imply. Default: none."""
    region: NotRequired[str]
    """Region of an EKS or GKE cluster; needed there."""


class GpuAddons(pulumi.ComponentResource):
    """What exists once per cluster: namespace, MIG layouts and sharing configurations as
    ConfigMaps, and the NVIDIA GPU Operator that reads them.

    Nodes must depend on it: their labels name configurations that have to exist before. An add-on
    with `ownership: existing` or `gitops` is not created.
    """

    namespace: pulumi.Output[str | None]
    """Namespace of the GPU Operator. Absent when nothing was created."""
    mig_config: pulumi.Output[str | None]
    """Name of the ConfigMap with mig-parted configurations. Absent when nothing was created."""
    device_plugin_config: pulumi.Output[str | None]
    """Name of the ConfigMap with device-plugin configurations. Absent when nothing was created."""
    chart_version: pulumi.Output[str | None]
    """Version of the GPU Operator chart. Absent when nothing was created."""

    def __init__(
        self,
        name: str,
        args: GpuAddonsArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Fleet | None = None,
    ) -> None:
        """Make the add-ons.

        Args:
            name: Name of the component, unique in its stack.
            args: The declarations.
            opts: Options; `provider` or `providers` must hold the cluster's Kubernetes provider.
            compiled: What the declarations mean, when the caller has compiled them already.

        Raises:
            InvalidArgumentsError: a declaration has an error; the text holds all of them.
        """
        component = f'GpuAddons "{name}"'
        given = declared(component, GpuAddonsArgs, cast("dict[str, Any]", args))
        fleet = compiled or _compile(component, given)
        super().__init__("gpufleet:index:GpuAddons", name, {}, opts)
        outputs: dict[str, pulumi.Input[str] | None] = dict.fromkeys(
            ("namespace", "mig_config", "device_plugin_config", "chart_version")
        )
        plan = fleet.addons.gpu_operator
        if plan.enabled and plan.ownership is Ownership.MANAGED:
            outputs |= self._gpu_operator(name, fleet)
        self.namespace = _known(outputs["namespace"])
        self.mig_config = _known(outputs["mig_config"])
        self.device_plugin_config = _known(outputs["device_plugin_config"])
        self.chart_version = _known(outputs["chart_version"])
        self.register_outputs(
            {
                "namespace": self.namespace,
                "migConfig": self.mig_config,
                "devicePluginConfig": self.device_plugin_config,
                "chartVersion": self.chart_version,
            }
        )

    def _gpu_operator(self, name: str, fleet: Fleet) -> dict[str, pulumi.Input[str] | None]:
        plan = fleet.addons.gpu_operator
        namespace = kubernetes.core.v1.Namespace(
            f"{name}-namespace",
            metadata={"name": plan.namespace, "labels": PRIVILEGED},
            opts=pulumi.ResourceOptions(parent=self),
        )
        mig = self._config_map(f"{name}-mig-parted", mig_parted_files(fleet), namespace)
        plugin = self._config_map(f"{name}-device-plugin", plugin_files(fleet), namespace)
        settings = fleet_operator_settings(fleet).model_dump(mode="json", exclude_none=True)
        operator = GpuOperator(
            f"{name}-gpu-operator",
            cast(
                "GpuOperatorArgs",
                {
                    **settings,
                    "catalogue": fleet.spec.catalogue,
                    "version": plan.version,
                    "namespace": _name_of(namespace),
                    "mig_config": _name_of(mig),
                    "device_plugin_config": _name_of(plugin),
                    "charts": _charts(fleet),
                    "values": fleet.spec.addons.gpu_operator.values,
                },
            ),
            pulumi.ResourceOptions(parent=self),
        )
        return {
            "namespace": _name_of(namespace),
            "mig_config": _name_of(mig),
            "device_plugin_config": _name_of(plugin),
            "chart_version": operator.chart_version,
        }

    def _config_map(
        self, name: str, files: ConfigFiles, namespace: kubernetes.core.v1.Namespace
    ) -> kubernetes.core.v1.ConfigMap:
        return kubernetes.core.v1.ConfigMap(
            name,
            metadata={
                "name": files.name,
                "namespace": _name_of(namespace),
                "labels": {"app.kubernetes.io/managed-by": "gpufleet"},
            },
            data=dict(files.data),
            immutable=True,
            opts=pulumi.ResourceOptions(parent=self),
        )


def _compile(component: str, given: dict[str, Any]) -> Fleet:
    cluster = {"name": "cluster"} | ({"region": given["region"]} if "region" in given else {})
    result = compile_data(
        {
            "catalogue": given["catalogue"],
            "platform": given["platform"],
            "cluster": cluster,
            "pools": given["pools"],
            "addons": given.get("addons", {}),
        }
    )
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet


def _charts(fleet: Fleet) -> ChartsArgs:
    """The declared source; in the sandbox, by default, the charts that play the real ones."""
    source = fleet.spec.addons.charts.source
    if source is not None:
        return {"source": cast("Any", source.model_dump(exclude_none=True))}
    if fleet.spec.platform is Platform.SANDBOX:
        return {"source": {"folder": str(resources.files("gpufleet") / "sandbox" / "charts")}}
    return {}


def _name_of(made: kubernetes.core.v1.Namespace | kubernetes.core.v1.ConfigMap) -> Any:
    return made.metadata["name"]


def _known(value: pulumi.Input[str] | None) -> Any:
    return pulumi.Output.from_input(value)
