"""The first network adapter of a machine: its network changes while it runs, its type does not."""

from typing import Any

from pyVmomi import vim

from gpufleet.nodes.vsphere.observed import Observed
from gpufleet.nodes.vsphere.settings import NodeSettings

_Change = vim.vm.device.VirtualDeviceSpec
_TYPES = {
    "vmxnet3": vim.vm.device.VirtualVmxnet3,
    "e1000e": vim.vm.device.VirtualE1000e,
}
ADAPTERS = tuple(_TYPES)
"""Types of adapter that can be declared."""

_ADDED_KEY = -50
"""Keys of devices that do not exist yet are negative."""


def adapter_type(adapter: Any | None) -> str:
    """`vmxnet3`, `e1000e`, or vCenter's name of another type; empty: there is no adapter."""
    if adapter is None:
        return ""
    known = (name for name, kind in _TYPES.items() if type(adapter) is kind)
    return next(known, type(adapter).__name__.rsplit(".", 1)[-1])


def adapter_changes(settings: NodeSettings, live: Observed, network: Any | None) -> list[Any]:
    """What to change of the first adapter: nothing; its network (one change, while it runs); or,
    for another type, the adapter itself (two changes, while the machine is off).

    Args:
        settings: What is declared.
        live: The machine.
        network: Network it must be on; None: the one it is on.
    """
    adapter, wanted = live.adapter, settings.place.adapter
    if adapter is None:
        return []
    backing = adapter.backing if network is None else _network_backing(network)
    if wanted not in (None, adapter_type(adapter)):
        other = _TYPES[str(wanted)](
            key=_ADDED_KEY,
            backing=backing,
            connectable=vim.vm.device.VirtualDevice.ConnectInfo(
                startConnected=True, allowGuestControl=True, connected=False
            ),
        )
        return [
            _Change(operation=_Change.Operation.remove, device=adapter),
            _Change(operation=_Change.Operation.add, device=other),
        ]
    if _network_key(adapter.backing) == _network_key(backing):
        return []
    adapter.backing = backing
    return [_Change(operation=_Change.Operation.edit, device=adapter)]


def _network_backing(network: Any) -> Any:
    card = vim.vm.device.VirtualEthernetCard
    if isinstance(network, vim.dvs.DistributedVirtualPortgroup):
        switch: Any = network.config.distributedVirtualSwitch
        return card.DistributedVirtualPortBackingInfo(
            port=vim.dvs.PortConnection(portgroupKey=network.key, switchUuid=switch.uuid)
        )
    return card.NetworkBackingInfo(network=network, deviceName=network.name)


def _network_key(backing: Any) -> str:
    port = getattr(backing, "port", None)
    if port is not None:
        return f"port {port.portgroupKey}"
    return f"network {getattr(getattr(backing, 'network', None), '_moId', '')}"
