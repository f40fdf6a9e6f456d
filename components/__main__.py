"""The components for programs in other languages: `pulumi package add <repository>/components`."""

from gpufleet import (
    ClusterAutoscaler,
    DevicePlugin,
    DraDriver,
    EfaDevicePlugin,
    EksGpuNodeGroup,
    GkeGpuNodePool,
    GpuAddons,
    GpuFleet,
    GpuHorizontalPodAutoscaler,
    GpuMonitoring,
    GpuOperator,
    GpuScaledObject,
    Karpenter,
    KarpenterGpuNodePool,
    Keda,
    KueueQueues,
    NetworkOperator,
    NeuronDevicePlugin,
    NimOperator,
    NimService,
    NodeMonitoringAgent,
    PrometheusAdapter,
    SimulatedGpuNodePool,
)
from gpufleet.hosting import serve

NAME = "gpufleet"
VERSION = "0.1.0"
# VsphereGpuNodeGroup is left out: its machines belong to a Python dynamic provider, which the
# engine cannot run for a component host.
COMPONENTS = [
    ClusterAutoscaler,
    DevicePlugin,
    DraDriver,
    EfaDevicePlugin,
    EksGpuNodeGroup,
    GkeGpuNodePool,
    GpuAddons,
    GpuFleet,
    GpuHorizontalPodAutoscaler,
    GpuMonitoring,
    GpuOperator,
    GpuScaledObject,
    Karpenter,
    KarpenterGpuNodePool,
    Keda,
    KueueQueues,
    NetworkOperator,
    NeuronDevicePlugin,
    NimOperator,
    NimService,
    PrometheusAdapter,
    NodeMonitoringAgent,
    SimulatedGpuNodePool,
]

if __name__ == "__main__":
    serve(COMPONENTS, NAME, VERSION)
