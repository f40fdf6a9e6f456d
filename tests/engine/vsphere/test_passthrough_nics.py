"""NICs by passthrough next to the GPUs of a machine."""

import dataclasses
from collections.abc import Iterator

import pytest
from pyVmomi import vim

from tests.engine.vcenter_fixture import Vcenter, inventory, simulated
from tests.engine.vsphere.direct import UNCLOSED, created, finished, read, refused
from tests.engine.vsphere.test_devices import of, updated
from tests.vcenter.simulator import SimulatedGpu

pytestmark = UNCLOSED
CONNECTX = {"deviceIds": ["1021"], "count": 1.0}


@pytest.fixture(scope="module")
def with_nics() -> Iterator[Vcenter]:
    """A vCenter whose first two hosts have a ConnectX-7 each."""
    nic = SimulatedGpu(
        "0000:af:00.0", "1021", "ConnectX-7", graphics_type="", memory_mib=0, vendor_id="15b3"
    )
    plain = inventory(hosts=3, gpus=2)
    equipped = {
        name: dataclasses.replace(host, gpus=(*host.gpus, nic)) if name != "DC0_C0_H2" else host
        for name, host in plain.gpu_hosts.items()
    }
    with simulated(dataclasses.replace(plain, gpu_hosts=equipped)) as found:
        yield found


def devices(cloud: Vcenter, name: str) -> list[tuple[int, int]]:
    """Vendor and id that each dynamic device of a machine may have."""
    with cloud.machine(name) as machine:
        found = of(machine, vim.vm.device.VirtualPCIPassthrough)
        return [(i.vendorId, i.deviceId) for one in found for i in one.backing.allowedDevice]


def test_nics_by_passthrough(with_nics: Vcenter) -> None:
    """They are in the machine before its first start, next to its GPUs, on hosts that have them
    free; later they only change while it is off."""
    cloud = with_nics
    outs = created(cloud.node(1, nics=CONNECTX))
    assert devices(cloud, "gpu-1") == [(0x10DE, 0x20B5), (0x15B3, 0x1021)]
    assert outs["host"] != "DC0_C0_H2"
    assert outs["drifted"] == {}
    with cloud.machine("gpu-1") as machine:
        assert machine.config.memoryReservationLockedToMax is True
    second = created(cloud.node(2, nics=CONNECTX))
    assert {outs["host"], second["host"]} == {"DC0_C0_H0", "DC0_C0_H1"}
    text = refused("vsphere-gpu-capacity", lambda: created(cloud.node(3, nics=CONNECTX)))
    assert "DC0_C0_H0 0 (NICs: 0 of 1 devices free" in text
    assert "DC0_C0_H2 0 (NICs: no device 15b3:1021, it has none)" in text

    plain = cloud.node(2)
    assert "it must be off" in refused("vsphere-needs-power-off", lambda: updated(second, plain))
    second = updated(second, {**plain, "updatePolicy": "restart"})
    assert devices(cloud, "gpu-2") == [(0x10DE, 0x20B5)]
    assert second["drifted"] == {}
    named = {"pciAddresses": ["0000:AF:00.0"]}
    third = created(cloud.node(3, nics=named))
    assert third["host"] == second["host"]
    with cloud.machine("gpu-3") as machine:
        _, nic = of(machine, vim.vm.device.VirtualPCIPassthrough)
        assert (nic.backing.id, nic.backing.deviceId) == ("0000:af:00.0", "1021")
        removed = vim.vm.device.VirtualDeviceSpec(operation="remove", device=nic)
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(deviceChange=[removed])))
    assert "gpu" in read(third)["drifted"]
