# pyright: standard
"""Removal of machines and their nodes: machines that are no longer declared, and machines with the
marks of a group that no state has. Idempotent; machines of other owners are never removed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pyVmomi import vim, vmodl

from gpufleet.spec.platforms.vsphere_policy import VsphereTimeouts
from gpufleet_vcenter.cluster_node import node_of
from gpufleet_vcenter.converge import power_off
from gpufleet_vcenter.disks import marked_disks, not_to_be_kept, plugged_disks, take_off
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed
from gpufleet_vcenter.identity import Standing
from gpufleet_vcenter.lookup import last_name
from gpufleet_vcenter.observed import MachineDifference, Observed, observe, options, paths_of, seen
from gpufleet_vcenter.outputs import read_settings
from gpufleet_vcenter.owned import MachineWork, RunningClone, await_clones, logged_in
from gpufleet_vcenter.reading import children, one, properties
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.tasks import in_words, run

_ATTEMPTS = 3


def drop(uuid: str, outs: Mapping[str, Any]) -> None:
    """Drain the node, remove the machine, delete the node. A missing machine is not an error.

    Args:
        uuid: Its instance uuid.
        outs: Its outputs. With the BIOS uuid in them the node of a machine that no longer exists is
            found; a machine that still has the reference exists.

    Raises:
        VsphereError: a machine with the uuid has another owner, the node cannot be drained,
            a disk that is to be kept would be lost, or vCenter refuses.
    """
    name = str(outs["name"])
    # An administrator may have given it a name that no node can have.
    settings = read_settings({**outs, "name": "machine"}).model_copy(update={"name": name})
    with in_words(f"removing {name}"):
        work = MachineWork(logged_in(settings.endpoint), settings, uuid)
        live = work.find(str(outs.get("moRef") or ""))
        if live is not None:
            check_kept(live)
        bios_uuid = str(outs.get("biosUuid") or "") if live is None else live.bios_uuid
        node = node_of(settings, bios_uuid)
        if live is not None:
            if node is not None and live.is_on:
                node.empty(uuid)
            destroy(work, live, spare=True)
        if node is not None:
            node.forget()


def check_kept(live: Observed) -> None:
    """Refuse to remove a machine whose kept disks would be deleted, before any change.

    Raises:
        VsphereError: it has snapshots, and disks that are to be kept.
    """
    wrong = not_to_be_kept(live, marked_disks(live).values())
    if wrong:
        raise VsphereError("vsphere-unsupported", f"removing {live.name}: {'; '.join(wrong)}")


def destroy(work: MachineWork, live: Observed, *, spare: bool = False) -> None:
    """Power off and destroy, with all disks. A machine that vanishes meanwhile is a success.

    Args:
        spare: Whether disks that are to be kept are detached before. Default: nothing is on them
            yet, and they go.
    """
    doing, left = f"removing {live.name}", f"{live.name} still exists"
    with in_words(doing, "destroy", left):
        for attempt in range(_ATTEMPTS):
            now = observe(work.session, live.reference)
            if now is None:
                return
            try:
                if now.power != "poweredOff":
                    now = power_off(work, now)
                if spare:
                    _detach_kept(work, now)
                run(work.session, live.reference.Destroy_Task, work.settings.timeouts.destroy)
            except vmodl.fault.ManagedObjectNotFound:
                return
            except VsphereError as failure:
                if failure.code == "vsphere-not-found":
                    return
                raise
            except OutcomeUnknownError:
                continue  # check whether it still exists
            except vim.fault.InvalidPowerState:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
    if observe(work.session, live.reference) is not None:
        raise failed("connection/destroy", doing=doing, attempts=_ATTEMPTS, left=left)


def _detach_kept(work: MachineWork, live: Observed) -> None:
    """Take the disks off that are to outlive the machine: destroying it deletes all others."""
    kept = [disk for disk in plugged_disks(live) if disk.keep]
    if not kept:
        return
    found = MachineDifference()
    for disk in kept:
        take_off(found, disk)
    spec = vim.vm.ConfigSpec(deviceChange=found.devices, extraConfig=options(found.keys))
    seconds = work.settings.timeouts.reconfigure
    run(work.session, lambda: live.reference.ReconfigVM_Task(spec), seconds)


_FEW = paths_of("name", "instance_uuid", "is_template", "power", "bios_uuid")
_PAGE = 200
"""Machines whose extra configuration is in memory at once: it is most of a machine's data."""


def marked_machines(session: Session, datacenter: Any) -> Iterator[Observed]:
    """Every machine of the datacenter that gpufleet made, with its marks."""
    machines = dict(children(session, datacenter, vim.VirtualMachine, _FEW))
    listed, extra = list(machines), paths_of("extra_config")
    for start in range(0, len(listed), _PAGE):
        page = listed[start : start + _PAGE]
        for machine, found in properties(session, page, vim.VirtualMachine, extra):
            live = seen(machine, {**machines[machine], **found}).slim
            if live.owner and not live.is_template:
                yield live


def machines_of(session: Session, datacenter: Any, life: str) -> list[Observed]:
    """The machines of the group with this id that the datacenter has, and copies of them, in the
    order of their names."""
    marked = marked_machines(session, datacenter)
    rows = (replace(live, standing=live.standing_in(life)) for live in marked)
    found = [live for live in rows if live.standing is not Standing.FOREIGN]
    return sorted(found, key=lambda row: row.name)


def await_clones_of(session: Session, common: Mapping[str, Any], group: str, names: str) -> None:
    """Wait for the clones in flight that may be the group's.

    Args:
        common: Inputs of the group's machines, or of one of them. A killed run may have had another
            template declared.
        names: Prefix of the names of its machines; empty: unknown.
    """
    template = last_name(str(common["place"]["template"]))
    seconds = VsphereTimeouts.model_validate(common.get("timeouts") or {}).clone
    doing = f"waiting for clones of {template} before machines of {group} are removed"

    def is_ours(clone: RunningClone) -> bool:
        source = one(session, clone.source, vim.VirtualMachine, ("name",)) or {}
        of_group = bool(names) and any(name.startswith(names) for name in clone.names)
        return of_group or unquote(str(source.get("name", ""))) == template

    with in_words(doing):
        await_clones(session, seconds, doing, "what they make may belong to the group", is_ours)
