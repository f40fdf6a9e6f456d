"""What components take: the FleetSpec's parts as TypedDicts, in the spelling of Python.

Pulumi's component host reads the package schema from these annotations and docstrings, and hands
arguments over as dicts. What the values may be is decided by the models of `gpufleet.spec` alone:
the files next to this one are written from them, and a test compares.
"""

from gpufleet.arguments.addons import AddonsArgs, ChartsArgs, ClusterAutoscalerOptionsArgs
from gpufleet.arguments.chart_components import (
    EfaDevicePluginArgs,
    KedaArgs,
    NeuronDevicePluginArgs,
    NimOperatorArgs,
    OperandTolerationArgs,
)
from gpufleet.arguments.eks import EksClusterArgs
from gpufleet.arguments.gke import GkeClusterArgs
from gpufleet.arguments.gpu_operator import GpuOperatorSettingsArgs
from gpufleet.arguments.images import ImagesArgs
from gpufleet.arguments.monitoring import MonitoringArgs
from gpufleet.arguments.network_operator import NetworkOperatorSettingsArgs
from gpufleet.arguments.nim import NimArgs
from gpufleet.arguments.olm import OlmOperatorArgs
from gpufleet.arguments.pool import GpuPoolArgs
from gpufleet.arguments.queues import QueuesArgs
from gpufleet.arguments.scaling import KedaScalingArgs

__all__ = [
    "AddonsArgs",
    "ChartsArgs",
    "ClusterAutoscalerOptionsArgs",
    "EfaDevicePluginArgs",
    "EksClusterArgs",
    "GkeClusterArgs",
    "GpuOperatorSettingsArgs",
    "GpuPoolArgs",
    "ImagesArgs",
    "KedaArgs",
    "KedaScalingArgs",
    "MonitoringArgs",
    "NetworkOperatorSettingsArgs",
    "NeuronDevicePluginArgs",
    "NimArgs",
    "NimOperatorArgs",
    "OlmOperatorArgs",
    "OperandTolerationArgs",
    "QueuesArgs",
]
