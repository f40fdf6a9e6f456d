"""One declaration provisions, partitions, queues and polices GPU fleets on Kubernetes.

    from gpufleet import GpuFleet

Each component is imported on first access: importing this package costs nothing, and a program
loads only the provider SDKs of the components that it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpufleet.installation import install_command

if TYPE_CHECKING:
    from gpufleet.addons.acceptance import GpuAcceptance
    from gpufleet.addons.device_plugin import DevicePlugin
    from gpufleet.addons.dra_driver import DraDriver
    from gpufleet.addons.gpu_addons import GpuAddons
    from gpufleet.addons.gpu_monitoring import GpuMonitoring
    from gpufleet.addons.gpu_operator import GpuOperator
    from gpufleet.addons.keda import GpuScaledObject, Keda
    from gpufleet.addons.kueue_queues import KueueQueues
    from gpufleet.addons.network_operator import NetworkOperator
    from gpufleet.addons.neuron_device_plugin import NeuronDevicePlugin
    from gpufleet.addons.nim import NimOperator, NimService
    from gpufleet.arguments import AddonsArgs, ChartsArgs, GpuPoolArgs
    from gpufleet.arguments.spelled_as_files.fleet_spec import FleetSpecArgs
    from gpufleet.gpu_fleet import GpuFleet
    from gpufleet.platforms.eks.cluster import EksCluster
    from gpufleet.platforms.eks.cluster_autoscaler import ClusterAutoscaler
    from gpufleet.platforms.eks.efa_device_plugin import EfaDevicePlugin
    from gpufleet.platforms.eks.karpenter import Karpenter
    from gpufleet.platforms.eks.karpenter_node_pool import KarpenterGpuNodePool
    from gpufleet.platforms.eks.node_group import EksGpuNodeGroup
    from gpufleet.platforms.eks.node_monitoring_agent import NodeMonitoringAgent
    from gpufleet.platforms.gke.cluster import GkeCluster
    from gpufleet.platforms.gke.node_pool import GkeGpuNodePool
    from gpufleet.platforms.openshift.cluster_autoscaler import OpenShiftClusterAutoscaler
    from gpufleet.platforms.openshift.machine_set import OpenShiftGpuMachineSet
    from gpufleet.platforms.openshift.olm_operator import OlmOperator
    from gpufleet.platforms.sandbox.node_pool import SimulatedGpuNodePool
    from gpufleet.platforms.vsphere.node_group import VsphereGpuNodeGroup

__all__ = [
    "AddonsArgs",
    "ChartsArgs",
    "ClusterAutoscaler",
    "DevicePlugin",
    "DraDriver",
    "EfaDevicePlugin",
    "EksCluster",
    "EksGpuNodeGroup",
    "FleetSpecArgs",
    "GkeCluster",
    "GkeGpuNodePool",
    "GpuAcceptance",
    "GpuAddons",
    "GpuFleet",
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
    "SimulatedGpuNodePool",
    "VsphereGpuNodeGroup",
]

_HOMES = {
    "AddonsArgs": "gpufleet.arguments",
    "ChartsArgs": "gpufleet.arguments",
    "ClusterAutoscaler": "gpufleet.platforms.eks.cluster_autoscaler",
    "DevicePlugin": "gpufleet.addons.device_plugin",
    "DraDriver": "gpufleet.addons.dra_driver",
    "EfaDevicePlugin": "gpufleet.platforms.eks.efa_device_plugin",
    "EksCluster": "gpufleet.platforms.eks.cluster",
    "EksGpuNodeGroup": "gpufleet.platforms.eks.node_group",
    "FleetSpecArgs": "gpufleet.arguments.spelled_as_files.fleet_spec",
    "GkeCluster": "gpufleet.platforms.gke.cluster",
    "GkeGpuNodePool": "gpufleet.platforms.gke.node_pool",
    "GpuAcceptance": "gpufleet.addons.acceptance",
    "GpuAddons": "gpufleet.addons.gpu_addons",
    "GpuFleet": "gpufleet.gpu_fleet",
    "GpuMonitoring": "gpufleet.addons.gpu_monitoring",
    "GpuOperator": "gpufleet.addons.gpu_operator",
    "GpuPoolArgs": "gpufleet.arguments",
    "GpuScaledObject": "gpufleet.addons.keda",
    "Karpenter": "gpufleet.platforms.eks.karpenter",
    "KarpenterGpuNodePool": "gpufleet.platforms.eks.karpenter_node_pool",
    "Keda": "gpufleet.addons.keda",
    "KueueQueues": "gpufleet.addons.kueue_queues",
    "NetworkOperator": "gpufleet.addons.network_operator",
    "NeuronDevicePlugin": "gpufleet.addons.neuron_device_plugin",
    "NimOperator": "gpufleet.addons.nim",
    "NimService": "gpufleet.addons.nim",
    "NodeMonitoringAgent": "gpufleet.platforms.eks.node_monitoring_agent",
    "OlmOperator": "gpufleet.platforms.openshift.olm_operator",
    "OpenShiftClusterAutoscaler": "gpufleet.platforms.openshift.cluster_autoscaler",
    "OpenShiftGpuMachineSet": "gpufleet.platforms.openshift.machine_set",
    "SimulatedGpuNodePool": "gpufleet.platforms.sandbox.node_pool",
    "VsphereGpuNodeGroup": "gpufleet.platforms.vsphere.node_group",
}
_EXTRAS = {
    "pulumi": "pulumi",
    "pulumi_kubernetes": "pulumi",
    "pulumi_aws": "eks",
    "pulumi_gcp": "gke",
    "pyVmomi": "vsphere",
    "tenacity": "vsphere",
}
"""Package that components import -> the extra that installs it (pyproject.toml)."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        raise ModuleNotFoundError(
            f"gpufleet.{name} needs the package {missing.name}, which the extra `{extra}` brings: "
            f"`{install_command(extra)}`",
            name=missing.name,
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
