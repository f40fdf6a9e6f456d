"""How far a new machine has come: its guest, its node; and clearing what it no longer needs."""

from pyVmomi import vim, vmodl

from gpufleet.platforms.vsphere.vcenter.cluster_node import node_of
from gpufleet.platforms.vsphere.vcenter.errors import Code, OutcomeUnknownError, VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import translated
from gpufleet.platforms.vsphere.vcenter.guest_data import JOINED_KEY, USER_DATA_KEYS
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.power import still_there, until
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.tasks import TaskTimeoutError, run, timed_out
from gpufleet.spec.platforms.vsphere import VsphereWaitFor

_ATTEMPTS = 3


def await_ready(session: Session, settings: NodeSettings, live: Observed) -> Observed:
    """The machine once its guest is as far as `waitFor` says and its node is Ready.

    When either shows that the guest has read its first-boot data, the secret part of it is taken
    out of vCenter.

    Raises:
        VsphereError: it was not in time; the text says how far the guest came.
    """
    live = _await_guest(session, settings, live)
    read = settings.wait_for is VsphereWaitFor.JOINED
    with node_of(settings, live.bios_uuid) as node:
        if node is not None:
            node.await_ready()
            node.reopen(live.instance_uuid)
            read = True
    return redacted(session, settings, still_there(session, live)) if read else live


def _await_guest(session: Session, settings: NodeSettings, live: Observed) -> Observed:
    if settings.wait_for is VsphereWaitFor.POWER_ON:
        return live

    def ready(now: Observed) -> bool:
        if settings.wait_for is VsphereWaitFor.TOOLS:
            return now.tools_running
        if settings.wait_for is VsphereWaitFor.JOINED:
            return now.extra_config.get(JOINED_KEY) == "done"
        return routable(now.address)

    live = until(session, live, settings.timeouts.address, ready)
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
        left=f"{live.name} ({live.moref}, instance uuid {live.instance_uuid}) runs",
    )


def routable(address: str) -> bool:
    """Whether the address can be reached from elsewhere: not empty and not link-local."""
    return bool(address) and not address.startswith(("169.254.", "fe80:", "127.", "::1"))


def redacted(session: Session, settings: NodeSettings, live: Observed) -> Observed:
    """The machine without secret first-boot data in its configuration. Safe to run again.

    Raises:
        VsphereError: vCenter refuses.
    """
    for _ in range(_ATTEMPTS):
        stale = [key for key in USER_DATA_KEYS if live.extra_config.get(key)]
        if not stale:
            return live
        empty = [vim.option.OptionValue(key=key, value="") for key in stale]
        machine, spec = live.reference, vim.vm.ConfigSpec(extraConfig=empty)
        doing = f"taking the first-boot data of {live.name} out of vCenter"
        try:
            run(
                session,
                lambda machine=machine, spec=spec: machine.ReconfigVM_Task(spec),
                settings.timeouts.reconfigure,
            )
        except (vim.fault.ConcurrentAccess, OutcomeUnknownError):
            pass  # look again
        except TaskTimeoutError as problem:
            raise timed_out(doing, problem, "reconfigure", f"{live.name} runs") from None
        except vmodl.MethodFault as fault:
            raise translated(fault, doing) from None
        live = still_there(session, live)
    if any(live.extra_config.get(key) for key in USER_DATA_KEYS):
        raise VsphereError(
            Code.CONFLICT,
            f"{live.name} still holds its first-boot data after {_ATTEMPTS} attempts to clear it",
            "look at the machine's events for who else changes it",
        )
    return live
