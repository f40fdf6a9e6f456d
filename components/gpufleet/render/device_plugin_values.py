"""Values of the chart nvidia-device-plugin (`objects/device_plugin.yaml`), and the ConfigMap they
name."""

from typing import Any

from pydantic import Field

from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import DEFAULT_PLUGIN_CONFIG, POOL_LABEL
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import DevicePluginPlan, Fleet
from gpufleet.render.data_files import data_part
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
    ours = [{"key": t.key, "operator": "Exists", "effect": t.effect} for t in settings.tolerations]
    tolerated, secret = [GPU_TOLERATION.as_dict(), *ours], settings.image_pull_secret
    critical = {"key": "CriticalAddonsOnly", "operator": "Exists"}
    return data_part(
        "device_plugin",
        "values",
        features=settings.gpu_feature_discovery,
        discovery=settings.node_feature_discovery,
        worker=tolerated if ours and settings.node_feature_discovery else None,
        strategy=settings.mig_strategy.value if settings.mig_strategy else "none",
        config=settings.default_config,
        tolerations=[critical, *tolerated] if ours else None,
        label=POOL_LABEL,
        selects=settings.pools is not None,
        pools=sorted(settings.pools or ()),
        secrets=None if secret is None else [{"name": secret}],
    )


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
