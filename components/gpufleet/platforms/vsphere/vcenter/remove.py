"""Removing a machine and its node: idempotent, and never a stranger's."""

from pyVmomi import vim, vmodl

from gpufleet.platforms.vsphere.vcenter.cluster_node import node_of
from gpufleet.platforms.vsphere.vcenter.disks import MARK, marked_disks, not_to_be_kept, removal
from gpufleet.platforms.vsphere.vcenter.errors import Code, OutcomeUnknownError, VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import translated
from gpufleet.platforms.vsphere.vcenter.identity import MachineIdentity
from gpufleet.platforms.vsphere.vcenter.lookup import by_name
from gpufleet.platforms.vsphere.vcenter.observed import Observed, observe
from gpufleet.platforms.vsphere.vcenter.owned import find_owned
from gpufleet.platforms.vsphere.vcenter.power import power_off
from gpufleet.platforms.vsphere.vcenter.rooms import release
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.tasks import TaskTimeoutError, run, timed_out

_ATTEMPTS = 3


def remove(
    session: Session,
    settings: NodeSettings,
    identity: MachineIdentity,
    bios_uuid: str = "",
    moref: str = "",
) -> bool:
    """Drain the node, remove the machine, forget the node. Returns whether there was a machine.

    Args:
        session: Login.
        settings: What was declared.
        identity: Whose machine it is.
        bios_uuid: Of the machine as it was last seen, for the node of one that is gone already.
        moref: Its reference as it was last seen: one that has it still is not gone.

    Raises:
        VsphereError: a machine with the uuid belongs to someone else, the node cannot be emptied,
            a disk that is to be kept would be lost, or vCenter refuses.
    """
    datacenter = by_name(
        session,
        session.content.rootFolder,
        vim.Datacenter,
        settings.place.datacenter,
        "datacenter",
    )
    live = find_owned(session, datacenter, identity, moref)
    if live is not None:
        check_kept(live)
    with node_of(settings, bios_uuid if live is None else live.bios_uuid) as node:
        if live is not None:
            if node is not None and live.power == "poweredOn":
                node.empty(identity.instance_uuid)
            destroy(session, settings, live, spare=True)
        if node is not None:
            node.forget()
    release(session.server_id, identity.instance_uuid)
    return live is not None


def check_kept(live: Observed) -> None:
    """Refuse to remove a machine whose disks would not outlive it, before anything is done.

    Raises:
        VsphereError: it has snapshots, and disks that are to be kept.
    """
    wrong = not_to_be_kept(live, marked_disks(live).values())
    if wrong:
        raise VsphereError(Code.UNSUPPORTED, f"removing {live.name}: {'; '.join(wrong)}")


def destroy(
    session: Session, settings: NodeSettings, live: Observed, *, spare: bool = False
) -> None:
    """Power off and destroy, with all disks. A machine that vanishes meanwhile is a success.

    Args:
        session: Login.
        settings: What was declared.
        live: The machine.
        spare: Whether disks that are to be kept are detached before. Default: nothing is on them
            yet, and they go.
    """
    name = live.name
    now: Observed | None = live
    for attempt in range(_ATTEMPTS):
        now = observe(session, live.reference)
        if now is None:
            return
        try:
            if now.power != "poweredOff":
                now = power_off(session, settings, now)
            if spare:
                _detach_kept(session, settings, now)
            run(session, live.reference.Destroy_Task, settings.timeouts.destroy)
        except vmodl.fault.ManagedObjectNotFound:
            return
        except VsphereError as failure:
            if failure.code is Code.NOT_FOUND:
                return
            raise
        except OutcomeUnknownError:
            continue  # look whether it is gone
        except vim.fault.InvalidPowerState as fault:
            if attempt == _ATTEMPTS - 1:
                raise translated(fault, f"removing {name}") from None
        except TaskTimeoutError as problem:
            raise timed_out(
                f"removing {name}", problem, "destroy", f"{name} still exists"
            ) from None
        except vmodl.MethodFault as fault:
            raise translated(fault, f"removing {name}") from None
        else:
            return
    if observe(session, live.reference) is not None:
        raise VsphereError(
            Code.CONNECTION,
            f"removing {name}: the connection broke {_ATTEMPTS} times",
            "run again",
            left=f"{name} still exists",
        )


def _detach_kept(session: Session, settings: NodeSettings, live: Observed) -> None:
    """Take the disks off that are to outlive the machine: destroying it deletes all others."""
    kept = [disk for disk in marked_disks(live).values() if disk.keep and disk.device is not None]
    if not kept:
        return
    spec = vim.vm.ConfigSpec(
        deviceChange=[removal(disk) for disk in kept],
        extraConfig=[vim.option.OptionValue(key=MARK + disk.name, value="") for disk in kept],
    )
    run(session, lambda: live.reference.ReconfigVM_Task(spec), settings.timeouts.reconfigure)
