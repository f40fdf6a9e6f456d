"""One declaration provisions, partitions, queues and polices GPU fleets on Kubernetes.

    from gpufleet import GpuFleet

Each component is imported when it is first asked for: importing this package costs nothing, and a
program pays only for the provider SDKs of the components it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpufleet.addons.device_plugin import DevicePlugin
    from gpufleet.addons.dra_driver import DraDriver
    from gpufleet.addons.efa_device_plugin import EfaDevicePlugin
    from gpufleet.addons.gpu_addons import GpuAddons
    from gpufleet.addons.gpu_operator import GpuOperator
    from gpufleet.addons.keda import Keda
    from gpufleet.addons.network_operator import NetworkOperator
    from gpufleet.addons.neuron_device_plugin import NeuronDevicePlugin
    from gpufleet.addons.nim_operator import NimOperator
    from gpufleet.addons.nim_service import NimService
    from gpufleet.addons.node_monitoring_agent import NodeMonitoringAgent
    from gpufleet.addons.olm_operator import OlmOperator
    from gpufleet.addons.prometheus_adapter import PrometheusAdapter
    from gpufleet.arguments import AddonsArgs, ChartsArgs, GpuPoolArgs
    from gpufleet.autoscaling.cluster_autoscaler import ClusterAutoscaler
    from gpufleet.autoscaling.horizontal_pod_autoscaler import GpuHorizontalPodAutoscaler
    from gpufleet.autoscaling.karpenter import Karpenter
    from gpufleet.autoscaling.karpenter_node_pool import KarpenterGpuNodePool
    from gpufleet.autoscaling.openshift_cluster_autoscaler import OpenShiftClusterAutoscaler
    from gpufleet.autoscaling.scaled_object import GpuScaledObject
    from gpufleet.gpu_fleet import GpuFleet
    from gpufleet.monitoring.gpu_monitoring import GpuMonitoring
    from gpufleet.nodes.eks import EksGpuNodeGroup
    from gpufleet.nodes.gke import GkeGpuNodePool
    from gpufleet.nodes.openshift import OpenShiftGpuMachineSet
    from gpufleet.nodes.simulated import SimulatedGpuNodePool
    from gpufleet.nodes.vsphere_group import VsphereGpuNodeGroup
    from gpufleet.queueing.kueue_queues import KueueQueues

__all__ = [
    "AddonsArgs",
    "ChartsArgs",
    "ClusterAutoscaler",
    "DevicePlugin",
    "DraDriver",
    "EfaDevicePlugin",
    "EksGpuNodeGroup",
    "GkeGpuNodePool",
    "GpuAddons",
    "GpuFleet",
    "GpuHorizontalPodAutoscaler",
    "GpuMonitoring",
    "GpuOperator",
    "GpuPoolArgs",
    "GpuScaledObject",
    "Karpenter",
    "KarpenterGpuNodePool",
    "Keda",
    "KueueQueues",
    "NetworkOperator",
    "NeuronDevicePlugin",
    "NimOperator",
    "NimService",
    "NodeMonitoringAgent",
    "OlmOperator",
    "OpenShiftClusterAutoscaler",
    "OpenShiftGpuMachineSet",
    "PrometheusAdapter",
    "SimulatedGpuNodePool",
    "VsphereGpuNodeGroup",
]

_HOMES = {
    "AddonsArgs": "gpufleet.arguments",
    "ChartsArgs": "gpufleet.arguments",
    "ClusterAutoscaler": "gpufleet.autoscaling.cluster_autoscaler",
    "DevicePlugin": "gpufleet.addons.device_plugin",
    "DraDriver": "gpufleet.addons.dra_driver",
    "EfaDevicePlugin": "gpufleet.addons.efa_device_plugin",
    "EksGpuNodeGroup": "gpufleet.nodes.eks",
    "GkeGpuNodePool": "gpufleet.nodes.gke",
    "GpuAddons": "gpufleet.addons.gpu_addons",
    "GpuFleet": "gpufleet.gpu_fleet",
    "GpuHorizontalPodAutoscaler": "gpufleet.autoscaling.horizontal_pod_autoscaler",
    "GpuMonitoring": "gpufleet.monitoring.gpu_monitoring",
    "GpuOperator": "gpufleet.addons.gpu_operator",
    "GpuPoolArgs": "gpufleet.arguments",
    "GpuScaledObject": "gpufleet.autoscaling.scaled_object",
    "Karpenter": "gpufleet.autoscaling.karpenter",
    "KarpenterGpuNodePool": "gpufleet.autoscaling.karpenter_node_pool",
    "Keda": "gpufleet.addons.keda",
    "KueueQueues": "gpufleet.queueing.kueue_queues",
    "NetworkOperator": "gpufleet.addons.network_operator",
    "NeuronDevicePlugin": "gpufleet.addons.neuron_device_plugin",
    "NimOperator": "gpufleet.addons.nim_operator",
    "NimService": "gpufleet.addons.nim_service",
    "PrometheusAdapter": "gpufleet.addons.prometheus_adapter",
    "NodeMonitoringAgent": "gpufleet.addons.node_monitoring_agent",
    "OlmOperator": "gpufleet.addons.olm_operator",
    "OpenShiftClusterAutoscaler": "gpufleet.autoscaling.openshift_cluster_autoscaler",
    "OpenShiftGpuMachineSet": "gpufleet.nodes.openshift",
    "SimulatedGpuNodePool": "gpufleet.nodes.simulated",
    "VsphereGpuNodeGroup": "gpufleet.nodes.vsphere_group",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
