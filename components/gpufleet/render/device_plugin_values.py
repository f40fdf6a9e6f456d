"""Values of the chart nvidia-device-plugin, and the ConfigMap they name.

Keys and defaults: NVIDIA/k8s-device-plugin v0.20.0 `deployments/helm/nvidia-device-plugin` (read
2026-11-21). The chart has no values schema.
"""

from typing import Any

from pydantic import Field

from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import DEFAULT_PLUGIN_CONFIG, POOL_LABEL
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import DevicePluginPlan, Fleet
from gpufleet.render.gpu_operator_values import plugin_files
from gpufleet.spec.addons import Addons
from gpufleet.spec.base import OneInput, SecretName, SpecModel
from gpufleet.spec.chart_components import ChartWithValues, OperandToleration
from gpufleet.spec.images import Images
from gpufleet.spec.sharing import MigStrategy

CHART = "nvidia-device-plugin"


class PluginSettings(SpecModel):
    """Values of the chart in typed form."""

    mig_strategy: MigStrategy | None = None
    """How MIG devices are named, on all nodes. Default: they are not advertised."""
    default_config: str = DEFAULT_PLUGIN_CONFIG
    """Key of the ConfigMap for nodes that choose none by the label
    `nvidia.com/device-plugin.config`. Default `default`."""
    pools: tuple[str, ...] | None = None
    """Pools whose nodes it runs on. Default: every node with an NVIDIA GPU."""
    gpu_feature_discovery: bool = True
    """Label nodes with what their GPUs are; MPS needs it. Default true."""
    node_feature_discovery: bool = True
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    image_pull_secret: SecretName | None = None
    """Secret for images, in the plugin's namespace. Default: none."""
    tolerations: tuple[OperandToleration, ...] = ()
    """Taints its pods tolerate with any value, next to `nvidia.com/gpu`. Default: none."""


class DeclaredDevicePlugin(PluginSettings, ChartWithValues):
    """Inputs of `DevicePlugin`."""

    config: OneInput
    """Name of the ConfigMap with the plugin's configurations, one per key, in its namespace."""
    namespace: OneInput = None
    """Namespace, which must exist and admit privileged pods, and is not `default`. Default:
    `nvidia-device-plugin`."""
    images: Images = Field(default_factory=Images)
    """Where images come from. Default: the vendors' own."""


def plugin_values(settings: PluginSettings) -> dict[str, Any]:
    """The values, without images and the name of the ConfigMap. Every switch is written out."""
    strategy = settings.mig_strategy.value if settings.mig_strategy else "none"
    values: dict[str, Any] = {
        "devicePlugin": {"enabled": True},
        "gfd": {"enabled": settings.gpu_feature_discovery},
        "nfd": {"enabled": settings.node_feature_discovery},
        "migStrategy": strategy,
        "config": {"default": settings.default_config},
    }
    ours = [{"key": t.key, "operator": "Exists", "effect": t.effect} for t in settings.tolerations]
    if ours:
        # Lists replace the chart's: its own entries are written again.
        critical = {"key": "CriticalAddonsOnly", "operator": "Exists"}
        gpu = GPU_TOLERATION.as_dict()
        values["tolerations"] = [critical, gpu, *ours]
        if settings.node_feature_discovery:
            values["nfd"]["worker"] = {"tolerations": [gpu, *ours]}
    if settings.pools is not None:
        wanted = {"key": POOL_LABEL, "operator": "In", "values": sorted(settings.pools)}
        term = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        values["affinity"] = {"nodeAffinity": {required: term}}
    if settings.image_pull_secret is not None:
        values["imagePullSecrets"] = [{"name": settings.image_pull_secret}]
    return values


def planned_plugin_settings(addons: Addons, plan: DevicePluginPlan) -> PluginSettings:
    """Settings of the chart that a declaration and its pools need."""
    data: dict[str, Any] = {
        "migStrategy": None if plan.mig_strategy == "none" else plan.mig_strategy,
        "pools": plan.pools,
        "gpuFeatureDiscovery": plan.gpu_feature_discovery,
        "nodeFeatureDiscovery": plan.node_feature_discovery,
        "imagePullSecret": addons.device_plugin.image_pull_secret,
        "tolerations": [{"key": t.key, "effect": t.effect} for t in plan.tolerations],
    }
    return PluginSettings.model_validate(data)


def plugin_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of the chart for a fleet, the declared `values` merged last."""
    addons = fleet.spec.addons
    settings = planned_plugin_settings(addons, fleet.addons.device_plugin)
    values = merged(plugin_values(settings), {"config": {"name": plugin_files(fleet).name}})
    return with_images(fleet, CHART, merged(values, addons.device_plugin.values))
