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
    from gpufleet.addons.gpu_addons import GpuAddons
    from gpufleet.addons.gpu_operator import GpuOperator
    from gpufleet.addons.network_operator import NetworkOperator
    from gpufleet.arguments import AddonsArgs, ChartsArgs, GpuPoolArgs
    from gpufleet.gpu_fleet import GpuFleet
    from gpufleet.nodes.simulated import SimulatedGpuNodePool

__all__ = [
    "AddonsArgs",
    "ChartsArgs",
    "DevicePlugin",
    "DraDriver",
    "GpuAddons",
    "GpuFleet",
    "GpuOperator",
    "GpuPoolArgs",
    "NetworkOperator",
    "SimulatedGpuNodePool",
]

_HOMES = {
    "AddonsArgs": "gpufleet.arguments",
    "ChartsArgs": "gpufleet.arguments",
    "DevicePlugin": "gpufleet.addons.device_plugin",
    "DraDriver": "gpufleet.addons.dra_driver",
    "GpuAddons": "gpufleet.addons.gpu_addons",
    "GpuFleet": "gpufleet.gpu_fleet",
    "GpuOperator": "gpufleet.addons.gpu_operator",
    "GpuPoolArgs": "gpufleet.arguments",
    "NetworkOperator": "gpufleet.addons.network_operator",
    "SimulatedGpuNodePool": "gpufleet.nodes.simulated",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
