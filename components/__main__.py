"""The components for programs in other languages: `pulumi package add <repository>/components`."""

from pulumi.provider.experimental import component_provider_host

from gpufleet import GpuAddons, GpuFleet, GpuOperator, SimulatedGpuNodePool

NAME = "gpufleet"
VERSION = "0.1.0"
COMPONENTS = [GpuAddons, GpuFleet, GpuOperator, SimulatedGpuNodePool]

if __name__ == "__main__":
    component_provider_host(components=COMPONENTS, name=NAME, version=VERSION)
