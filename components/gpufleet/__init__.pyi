"""Public names, for type checkers and editors. Generated from public_names.csv."""

from gpufleet.addons.acceptance import GpuAcceptance as GpuAcceptance
from gpufleet.addons.device_plugin import DevicePlugin as DevicePlugin
from gpufleet.addons.dra_driver import DraDriver as DraDriver
from gpufleet.addons.gpu_addons import GpuAddons as GpuAddons
from gpufleet.addons.gpu_monitoring import GpuMonitoring as GpuMonitoring
from gpufleet.addons.gpu_operator import GpuOperator as GpuOperator
from gpufleet.addons.keda import GpuScaledObject as GpuScaledObject
from gpufleet.addons.keda import Keda as Keda
from gpufleet.addons.kueue_queues import KueueQueues as KueueQueues
from gpufleet.addons.network_operator import NetworkOperator as NetworkOperator
from gpufleet.addons.neuron_device_plugin import NeuronDevicePlugin as NeuronDevicePlugin
from gpufleet.addons.nim import NimOperator as NimOperator
from gpufleet.addons.nim import NimService as NimService
from gpufleet.arguments import AddonsArgs as AddonsArgs
from gpufleet.arguments import ChartsArgs as ChartsArgs
from gpufleet.arguments import GpuPoolArgs as GpuPoolArgs
from gpufleet.arguments.spelled_as_files.fleet_spec import FleetSpecArgs as FleetSpecArgs
from gpufleet.gpu_fleet import GpuFleet as GpuFleet
from gpufleet.platforms.eks.cluster import EksCluster as EksCluster
from gpufleet.platforms.eks.cluster_autoscaler import ClusterAutoscaler as ClusterAutoscaler
from gpufleet.platforms.eks.efa_device_plugin import EfaDevicePlugin as EfaDevicePlugin
from gpufleet.platforms.eks.karpenter import Karpenter as Karpenter
from gpufleet.platforms.eks.karpenter_node_pool import KarpenterGpuNodePool as KarpenterGpuNodePool
from gpufleet.platforms.eks.node_group import EksGpuNodeGroup as EksGpuNodeGroup
from gpufleet.platforms.eks.node_monitoring_agent import NodeMonitoringAgent as NodeMonitoringAgent
from gpufleet.platforms.gke.cluster import GkeCluster as GkeCluster
from gpufleet.platforms.gke.node_pool import GkeGpuNodePool as GkeGpuNodePool
from gpufleet.platforms.openshift.cluster_autoscaler import (
    OpenShiftClusterAutoscaler as OpenShiftClusterAutoscaler,
)
from gpufleet.platforms.openshift.machine_set import (
    OpenShiftGpuMachineSet as OpenShiftGpuMachineSet,
)
from gpufleet.platforms.openshift.olm_operator import OlmOperator as OlmOperator
from gpufleet.platforms.sandbox.node_pool import SimulatedGpuNodePool as SimulatedGpuNodePool
from gpufleet.platforms.vsphere.node_group import VsphereGpuNodeGroup as VsphereGpuNodeGroup

__all__: list[str]
