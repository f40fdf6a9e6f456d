"""The components for programs in other languages: `pulumi package add <repository>/components`."""

from gpufleet import (
    DevicePlugin,
    DraDriver,
    GpuAddons,
    GpuFleet,
    GpuOperator,
    NetworkOperator,
    SimulatedGpuNodePool,
)
from gpufleet.hosting import serve

NAME = "gpufleet"
VERSION = "0.1.0"
COMPONENTS = [
    DevicePlugin,
    DraDriver,
    GpuAddons,
    GpuFleet,
    GpuOperator,
    NetworkOperator,
    SimulatedGpuNodePool,
]

if __name__ == "__main__":
    serve(COMPONENTS, NAME, VERSION)
