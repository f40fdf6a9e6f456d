"""Inputs of components: what restates `gpufleet.fleet.gpu_operator_chart`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict

import pulumi

from gpufleet.arguments.addons import ChartsArgs
from gpufleet.arguments.chart_components import OperandTolerationArgs
from gpufleet.arguments.gpu_operator import GpuOperatorSettingsArgs
from gpufleet.arguments.images import ImagesArgs
from gpufleet.arguments.words import MigStrategyWord


class GpuOperatorArgs(TypedDict):
    """Inputs of `GpuOperator`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    version: NotRequired[str]
    """Chart version. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Source of the chart. Default: the vendor's repository."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""
    settings: NotRequired[GpuOperatorSettingsArgs]
    """The parts that it runs. Default: as in the chart."""
    mig_strategy: NotRequired[MigStrategyWord]
    """One of `single`, `mixed`. How MIG devices are named, for the whole cluster. Default: they
    are not advertised."""
    device_plugin_default: NotRequired[str]
    """Key of the device-plugin ConfigMap for nodes without a label. Default: none is applied."""
    tolerations: NotRequired[list[OperandTolerationArgs]]
    """Taints that operands and Node Feature Discovery tolerate with any value, in addition to
    `nvidia.com/gpu`. Default: none."""
    images: NotRequired[ImagesArgs]
    """Sources of images, and the proxy. Default: the vendors' registries."""
    separate_drivers: NotRequired[bool]
    """Whether NVIDIADriver objects of others install the driver. Default false."""
    namespace: NotRequired[pulumi.Input[str]]
    """Namespace, which must exist and admit privileged pods. Default: `gpu-operator`."""
    device_plugin_config: NotRequired[pulumi.Input[str]]
    """Name of the ConfigMap with device-plugin configurations. Default: none."""
    mig_config: NotRequired[pulumi.Input[str]]
    """Name of the ConfigMap with mig-parted configurations. Default: the operator generates one
    for each node."""
