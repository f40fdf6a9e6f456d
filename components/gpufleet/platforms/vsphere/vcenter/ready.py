"""How far a new machine has come: its guest, its node; and clearing what it no longer needs."""

from collections.abc import Callable
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.cluster_node import node_of
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.guest_data import JOINED_KEY, USER_DATA_KEYS
from gpufleet.platforms.vsphere.vcenter.identity import PENDING
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.owned import MachineWork
from gpufleet.platforms.vsphere.vcenter.power import still_there, until
from gpufleet.platforms.vsphere.vcenter.tasks import changed_until
from gpufleet.spec.platforms.vsphere import VsphereWaitFor


def await_ready(work: MachineWork, live: Observed, *, completes: bool = True) -> Observed:
    """The machine once its guest is as far as `waitFor` says and its node is Ready.

    When either shows that the guest has read its first-boot data, the secret part of it is taken
    out of vCenter.

    Args:
        work: What is declared.
        live: The machine, running.
        completes: Whether the mark of an incomplete machine goes, too. Default true.

    Raises:
        VsphereError: it was not in time; the text says how far the guest came.
    """
    live = _await_guest(work, live)
    read = work.settings.wait_for is VsphereWaitFor.JOINED
    with node_of(work.settings, live.bios_uuid) as node:
        if node is not None:
            node.await_ready()
            node.reopen(live.instance_uuid)
            read = True
    keys = (*(USER_DATA_KEYS if read else ()), *((PENDING,) if completes else ()))
    return _emptied(work, live, keys)


def _await_guest(work: MachineWork, live: Observed) -> Observed:
    settings = work.settings
    if settings.wait_for is VsphereWaitFor.POWER_ON:
        return live

    def ready(now: Observed) -> bool:
        if settings.wait_for is VsphereWaitFor.TOOLS:
            return now.tools_running
        if settings.wait_for is VsphereWaitFor.JOINED:
            return now.extra_config.get(JOINED_KEY) == "done"
        return routable(now.address)

    live = until(work.session, live, settings.timeouts.address, ready)
    if ready(live):
        return live
    tools = "run" if live.tools_running else "do not run"
    joined = ""
    if settings.wait_for is VsphereWaitFor.JOINED:
        joined = f", {JOINED_KEY} is {live.extra_config.get(JOINED_KEY) or 'not set'}"
    raise VsphereError(
        Code.TIMEOUT,
        f"{live.name} runs, and its guest was not ready after {settings.timeouts.address} s: "
        f"VMware tools {tools}, address {live.address or 'none'}{joined}",
        "look at /var/log/cloud-init-output.log in the guest; allow more with timeouts.address",
        left=stays(live),
    )


def stays(live: Observed) -> str:
    """What becomes of a machine that runs and is late."""
    return (
        f"{live.name} ({live.moref}, instance uuid {live.instance_uuid}) runs and stays: the next "
        "`pulumi up` waits for it again, and `pulumi destroy` removes it"
    )


def routable(address: str) -> bool:
    """Whether the address can be reached from elsewhere: not empty and not link-local."""
    return bool(address) and not address.startswith(("169.254.", "fe80:", "127.", "::1"))


def _emptied(work: MachineWork, live: Observed, keys: tuple[str, ...]) -> Observed:
    """The machine without values of these keys in its configuration. Safe to run again.

    Raises:
        VsphereError: vCenter refuses.
    """
    machine = live.reference

    def lacking() -> Callable[[], Any] | None:
        now = still_there(work.session, live)
        empty = [
            vim.option.OptionValue(key=key, value="") for key in keys if now.extra_config.get(key)
        ]
        spec = vim.vm.ConfigSpec(extraConfig=empty)
        return (lambda: machine.ReconfigVM_Task(spec)) if empty else None

    what, seconds = f"first-boot data and marks of {live.name}", work.settings.timeouts.reconfigure
    changed_until(work.session, machine, lacking, seconds, what, "machine")
    return still_there(work.session, live)
