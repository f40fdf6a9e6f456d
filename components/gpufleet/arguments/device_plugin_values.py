"""Inputs of components: what restates `gpufleet.render.device_plugin_values`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments.addons import ChartsArgs
from gpufleet.arguments.chart_components import OperandTolerationArgs
from gpufleet.arguments.images import ImagesArgs
from gpufleet.arguments.words import MigStrategyWord


class DevicePluginArgs(TypedDict):
    """Inputs of `DevicePlugin`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    mig_strategy: NotRequired[MigStrategyWord]
    """One of `single`, `mixed`. How MIG devices are named, on all nodes. Default: they are not
    advertised."""
    default_config: NotRequired[str]
    """Key of the ConfigMap for nodes that choose none by the label
    `nvidia.com/device-plugin.config`. Default `default`."""
    pools: NotRequired[list[str]]
    """Pools whose nodes it runs on. Default: every node with an NVIDIA GPU."""
    gpu_feature_discovery: NotRequired[bool]
    """Label nodes with what their GPUs are; MPS needs it. Default true."""
    node_feature_discovery: NotRequired[bool]
    """Run Node Feature Discovery. Default true; false where the cluster already has it."""
    image_pull_secret: NotRequired[str]
    """Secret for images, in the plugin's namespace. Default: none."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints its pods tolerate with any value, next to `nvidia.com/gpu`. Default: none."""
    config: pulumi.Input[str]
    """Name of the ConfigMap with the plugin's configurations, one per key, in its namespace."""
    namespace: NotRequired[pulumi.Input[str]]
    """Namespace, which must exist and admit privileged pods, and is not `default`. Default:
    `nvidia-device-plugin`."""
    images: NotRequired[ImagesArgs]
    """Where images come from. Default: the vendors' own."""
