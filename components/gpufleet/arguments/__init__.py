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
)
from gpufleet.arguments.components import (
    DraDriverArgs,
    GpuAcceptanceArgs,
    GpuAddonsArgs,
    GpuMonitoringArgs,
    GpuScaledObjectArgs,
    KueueQueuesArgs,
    NetworkOperatorArgs,
    NimServiceArgs,
)
from gpufleet.arguments.device_plugin_values import DevicePluginArgs
from gpufleet.arguments.eks import EksClusterArgs
from gpufleet.arguments.eks_components import (
    ClusterAutoscalerArgs,
    KarpenterArgs,
    NodeMonitoringAgentArgs,
)
from gpufleet.arguments.gke import GkeClusterArgs
from gpufleet.arguments.gpu_operator_chart import GpuOperatorArgs
from gpufleet.arguments.olm import OlmOperatorArgs
from gpufleet.arguments.pool import GpuPoolArgs

__all__ = [
    "AddonsArgs",
    "ChartsArgs",
    "ClusterAutoscalerArgs",
    "ClusterAutoscalerOptionsArgs",
    "DevicePluginArgs",
    "DraDriverArgs",
    "EfaDevicePluginArgs",
    "EksClusterArgs",
    "GkeClusterArgs",
    "GpuAcceptanceArgs",
    "GpuAddonsArgs",
    "GpuMonitoringArgs",
    "GpuOperatorArgs",
    "GpuPoolArgs",
    "GpuScaledObjectArgs",
    "KarpenterArgs",
    "KedaArgs",
    "KueueQueuesArgs",
    "NetworkOperatorArgs",
    "NeuronDevicePluginArgs",
    "NimOperatorArgs",
    "NimServiceArgs",
    "NodeMonitoringAgentArgs",
    "OlmOperatorArgs",
]
