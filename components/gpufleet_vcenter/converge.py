"""Making a machine what is declared, from whatever state it is in. Safe to run again and again."""

from collections.abc import Callable, Mapping
from typing import Any

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy
from gpufleet.spec.platforms.vsphere_policy import LatencySensitivity
from gpufleet_vcenter.cluster_node import node_of
from gpufleet_vcenter.errors import Code, VsphereError, failed
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.power import power_off, still_there
from gpufleet_vcenter.preflight import check_name
from gpufleet_vcenter.reading import last_event, one
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.specs import MachineDifference, difference, mmio_of
from gpufleet_vcenter.tasks import changed_until, step

_ATTEMPTS = 4
"""Times a reconfiguration is worked out anew when someone else changed the machine meanwhile."""


def converge(
    work: MachineWork, live: Observed, *, first_boot: bool, before: NodeSettings | None = None
) -> Observed:
    """Reconfigure what differs. Returns the machine as it is afterwards.

    A machine that must be off for it, and may, is drained first and powered off.

    Args:
        work: What is declared.
        first_boot: Whether its guest has not started yet.
        before: What was declared before, and goes if it is not wanted. Default: nothing.

    Raises:
        VsphereError: a difference cannot be fixed, or needs the machine off and the update
            policy does not allow that.
    """
    session, settings = work.session, work.settings
    for _ in range(_ATTEMPTS):
        lacking = _lacks(work, live, first_boot, before)
        if lacking.refused:
            raise VsphereError(Code.FAULT, f"{live.name}: {'; '.join(lacking.refused)}")
        if not lacking.properties:
            return live
        if lacking.powered_off and live.power != "poweredOff":
            if settings.update_policy is not VsphereUpdatePolicy.RESTART:
                raise failed("needs-power-off", live=live, paths=lacking.powered_off)
            if live.power == "poweredOn":
                with node_of(settings, live.bios_uuid) as node:
                    if node is not None:
                        node.empty(live.instance_uuid)
            live = power_off(work, live)
            continue
        if lacking.upgrade is not None:
            upgrade(session, settings, live, lacking.upgrade)
            live = still_there(session, live)
            if lacking.spec is None:
                continue
        assert lacking.spec is not None
        lacking.spec.changeVersion = live.change_version or None
        machine = live.reference
        step(
            session,
            lambda machine=machine, spec=lacking.spec: machine.ReconfigVM_Task(spec),
            settings.timeouts.reconfigure,
            f"reconfiguring {live.name}",
            f"{live.name} exists",
            mmio_gib=mmio_of(settings),
        )
        live = still_there(session, live)
        if not _lacks(work, live, first_boot, before).properties:
            return live
    raise failed(
        "conflict/machine", live=live, attempts=_ATTEMPTS, event=last_event(session, live.reference)
    )


def _lacks(
    work: MachineWork, live: Observed, first_boot: bool, before: NodeSettings | None
) -> MachineDifference:
    """What differs between declaration and machine.

    With high latency sensitivity all processor time must be reserved, else ESXi does not start the
    machine ("Invalid CPU reservation for the latency-sensitive VM, (sched.cpu.min) should be at
    least ...", RedHatOfficial/ocp4-vsphere-upi-automation#36; vSphere 8.0 Resource Management).
    """
    devices, mhz = _fixed_backings(work, live.host), 0
    if work.settings.latency_sensitivity is LatencySensitivity.HIGH and live.host is not None:
        known = one(work.session, live.host, vim.HostSystem, ("hardware.cpuInfo.hz",)) or {}
        mhz = work.settings.cpus * int(known.get("hardware.cpuInfo.hz") or 0) // 1_000_000
    return difference(work, live, devices, first_boot, before, mhz)


def _fixed_backings(work: MachineWork, host: Any) -> dict[str, Any]:
    """Address -> backing of the host's device, for fixed passthrough; else nothing is asked."""
    addresses, compute = work.settings.fixed_addresses, work.place.compute
    if not addresses:
        return {}
    known = work.session.call(
        lambda: compute.environmentBrowser.QueryConfigTarget(host)
    ).pciPassthrough
    offered: Mapping[str, Any] = {entry.pciDevice.id: entry for entry in known}
    absent = [address for address in addresses if address not in offered]
    if absent:
        raise failed(
            "gpu-none/no-device",
            host=getattr(host, "_moId", "the host"),
            absent=absent,
            offered=sorted(offered),
        )
    kind = vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo
    return {
        address: kind(
            id=address,
            deviceId=f"{offered[address].pciDevice.deviceId & 0xFFFF:04x}",
            systemId=offered[address].systemId,
            vendorId=offered[address].pciDevice.vendorId,
            deviceName=offered[address].pciDevice.deviceName,
        )
        for address in addresses
    }


def upgrade(session: Session, settings: NodeSettings, live: Observed, version: int) -> None:
    """Upgrade the machine. The caller looks at it afterwards: a lost answer, and a machine that
    has the version already, are fine.

    Raises:
        VsphereError: vCenter refuses, as for a version that no host of the cluster knows.
    """
    step(
        session,
        lambda: live.reference.UpgradeVM_Task(f"vmx-{version}"),
        settings.timeouts.reconfigure,
        f"upgrading the virtual hardware of {live.name} from {live.hardware_version} to {version}",
        f"{live.name} exists",
    )


def move(work: MachineWork, live: Observed) -> None:
    """Put the machine where it is declared to be. Safe to run again.

    Raises:
        VsphereError: the name is taken in the folder, or vCenter refuses.
    """
    machine, pool, folder = live.reference, work.place.pool, work.place.folder
    spec = vim.vm.RelocateSpec(pool=pool)
    if _at(work, live, "parent") != folder:
        check_name(work, work.named())
    for path, target, start in (
        ("resourcePool", pool, lambda: machine.RelocateVM_Task(spec)),
        ("parent", folder, lambda: folder.MoveIntoFolder_Task([machine])),
    ):

        def lacking(
            path: str = path, target: Any = target, start: Callable[[], Any] = start
        ) -> Callable[[], Any] | None:
            return None if _at(work, live, path) == target else start

        what, seconds = f"the place of {live.name}", work.settings.timeouts.reconfigure
        changed_until(work.session, machine, lacking, seconds, what, "machine")


def _at(work: MachineWork, live: Observed, path: str) -> Any:
    return (one(work.session, live.reference, vim.VirtualMachine, (path,)) or {}).get(path)
