# pyright: standard
"""Changes of a machine to its declaration, from any state: reconfiguration and moves, start and
stop, progress of its guest and node, and removal of data that is no longer needed. Safe to
repeat."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyVmomi import vim

from gpufleet.spec.platforms.vsphere import VsphereUpdatePolicy, VsphereWaitFor
from gpufleet.spec.platforms.vsphere_policy import DeletePolicy
from gpufleet_vcenter.cluster_node import node_of
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed, said
from gpufleet_vcenter.guest_data import JOINED_KEY, USER_DATA_KEYS
from gpufleet_vcenter.identity import PENDING
from gpufleet_vcenter.observed import Observed, options
from gpufleet_vcenter.owned import MachineWork, changed, still_there
from gpufleet_vcenter.preflight import check_name
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.specs import difference, mmio_of
from gpufleet_vcenter.tasks import Begin, in_words, run, turns, wait


def converge(
    work: MachineWork, live: Observed, *, first_boot: bool, before: NodeSettings | None = None
) -> Observed:
    """Reconfigure the differences, and move the machine. Returns it afterwards.

    A machine that must be off, and may be, is drained first and powered off.

    Args:
        first_boot: Whether its guest has not started yet.
        before: The previous declaration; parts no longer declared are removed. Default: none.

    Raises:
        VsphereError: a difference cannot be fixed, or needs the machine off and the update
            policy does not allow that.
    """
    settings, name = work.settings, live.name

    def lacking(now: Observed) -> Begin | None:
        found, machine = difference(work, now, first_boot, before), now.reference
        if found.refused:
            raise VsphereError("vsphere-fault", f"{name}: {'; '.join(found.refused)}")
        if found.off and now.power != "poweredOff":
            if settings.update_policy is not VsphereUpdatePolicy.RESTART:
                raise failed("needs-power-off", live=now, paths=found.off)
            if now.is_on and (node := node_of(settings, now.bios_uuid)) is not None:
                node.empty(now.instance_uuid)
            return lacking(power_off(work, now))
        if found.upgrade is not None:
            step = f"from {now.hardware_version} to {found.upgrade}"
            doing = f"upgrading the virtual hardware of {name} {step}"
            return doing, lambda: machine.UpgradeVM_Task(f"vmx-{found.upgrade}")
        spec = vim.vm.ConfigSpec(**found.parts, changeVersion=now.change_version or None)
        if found.parts:
            return f"reconfiguring {name}", lambda: machine.ReconfigVM_Task(spec)
        return None if before is None else _move(work, now, before)

    return changed(work, live, lacking, mmio_gib=mmio_of(settings))


def _move(work: MachineWork, live: Observed, before: NodeSettings) -> Begin | None:
    """The move of the machine to its declared folder or pool, where their declaration has changed:
    moves by others are not reverted."""
    was, place, machine = before.place, work.settings.place, live.reference
    if (was.resource_pool, was.folder) == (place.resource_pool, place.folder):
        return None
    pool, folder, doing = work.place.pool, work.place.folder, f"moving {live.name}"
    if live.folder != folder:
        check_name(work, work.named())
    if live.pool != pool:
        return doing, lambda: machine.RelocateVM_Task(vim.vm.RelocateSpec(pool=pool))
    return None if live.folder == folder else (doing, lambda: folder.MoveIntoFolder_Task([machine]))


_CALLS = 3
AUTOMATIC = vim.option.OptionValue(key="OverrideAutomationLevel", value="fullyAutomated")
"""Option of a start that lets DRS choose the host and start the machine. Without it, DRS only makes
a recommendation for a machine or cluster whose behaviour is `manual` (vSphere API, DrsBehavior and
ClusterPowerOnVmOption; openshift/machine-api-operator, `pkg/controller/vsphere/reconciler.go`)."""
_LINK_LOCAL = ("169.254.", "fe80:", "127.", "::1")
_LOST_SECONDS = 2.0
"""Seconds for which a machine is watched after a lost answer, before the call is repeated."""


def power_on(work: MachineWork, live: Observed) -> Observed:
    """The machine, running. One that runs already is fine; a suspended one is reported.

    Raises:
        VsphereError: it does not start; a fault that another host may not have keeps the code
            `vsphere-gpu-capacity`.
    """
    if live.power == "suspended":
        raise failed("host-state/suspended", live=live)
    if live.is_on:
        return still_there(work.session, live)  # the machine after the changes
    doing, mmio = f"powering on {live.name}", mmio_of(work.settings)
    with in_words(doing, "powerOn", f"{live.name} exists", mmio):
        for _ in range(_CALLS):
            # A second request is safe: vCenter answers that the machine runs or is about to run.
            # Therefore a lost answer is not awaited for the full time of a start.
            try:
                with suppress(vim.fault.InvalidPowerState):
                    _start(work, live)
                live = still_there(work.session, live)
                break
            except OutcomeUnknownError:
                live = until(work.session, live, _LOST_SECONDS, lambda now: now.is_on)
                if live.is_on:
                    break
        else:
            raise failed("connection/start", live=live, attempts=_CALLS)
    if live.question:
        raise failed("question", live=live)
    if not live.is_on:
        raise failed("host-state/not-started", live=live)
    return live


def _start(work: MachineWork, live: Observed) -> None:
    session, found, machine = work.session, work.place, live.reference
    seconds = work.settings.timeouts.power_on

    def watch() -> None:
        """A question of vCenter blocks the task until it is answered."""
        now = still_there(session, live)
        if now.question:
            raise failed("question", live=now)

    def start() -> Any:
        return found.datacenter.PowerOnMultiVM_Task([machine], [AUTOMATIC])

    if not found.is_cluster:
        run(session, machine.PowerOnVM_Task, seconds, watch)
        return
    # The call lets DRS place movable machines. Its own success does not state the result of the
    # machine: that is in the task of the single attempt.
    outcome = run(session, start, seconds, watch)
    for attempt in getattr(outcome, "notAttempted", None) or []:
        raise attempt.fault
    attempted = getattr(outcome, "attempted", None) or []
    for attempt in attempted:
        if attempt.task is not None:
            wait(session, attempt.task, seconds, watch)
    if not attempted and getattr(outcome, "recommendations", None):
        keys = [str(one.key) for one in outcome.recommendations]
        raise failed("drs-behavior/recommended", live=live, keys=keys)


def power_off(work: MachineWork, live: Observed) -> Observed:
    """Power the machine off: by its guest first if the policy requires it, else at once."""
    session, machine, seconds = work.session, live.reference, work.settings.timeouts.shutdown
    soft = work.settings.delete_policy is DeletePolicy.TRY_SOFT
    # A machine that cannot be powered off is off already or unreachable: it is read again.
    passes = (vim.fault.InvalidPowerState, vim.fault.ToolsUnavailable, OutcomeUnknownError)
    with in_words(f"powering off {live.name}", "shutdown", f"{live.name} still runs"):
        if soft and live.power == "poweredOn" and live.tools_running:
            with suppress(*passes):
                session.call(machine.ShutdownGuest, changes=True)
                live = until(session, live, seconds, lambda now: now.power == "poweredOff")
        for _ in range(_CALLS):
            if live.power != "poweredOff":
                with suppress(*passes):
                    run(session, machine.PowerOffVM_Task, seconds)
                live = still_there(session, live)
    return live


def until(
    session: Session, live: Observed, seconds: float, done: Callable[[Observed], bool]
) -> Observed:
    """The machine when `done` is true, it has a question, or the time has passed.

    Raises:
        VsphereError: the update was interrupted before, or the machine no longer exists.
    """
    doing = f"waiting for {live.name}"
    for _ in turns(seconds, doing, f"{live.name} ({live.moref}) stays"):
        live = still_there(session, live)
        if done(live) or live.question:
            break
    return live


def await_ready(work: MachineWork, live: Observed) -> Observed:
    """The machine once its guest is as far as `waitFor` says and its node is Ready.

    When either shows that the guest has read its first-boot data, the secret part of it is taken
    out of vCenter. The mark of an incomplete machine goes, too.

    Raises:
        VsphereError: it was not in time; the text says how far the guest came.
    """
    live = _await_guest(work, live)
    read = work.settings.wait_for is VsphereWaitFor.JOINED
    if (node := node_of(work.settings, live.bios_uuid)) is not None:
        node.await_ready()
        node.reopen(live.instance_uuid)
        read = True
    return _emptied(work, live, (*(USER_DATA_KEYS if read else ()), PENDING))


def _await_guest(work: MachineWork, live: Observed) -> Observed:
    settings = work.settings

    def ready(now: Observed) -> bool:
        states = {
            VsphereWaitFor.POWER_ON: True,
            VsphereWaitFor.TOOLS: now.tools_running,
            VsphereWaitFor.JOINED: now.extra_config.get(JOINED_KEY) == "done",
            # An address that other machines can reach.
            VsphereWaitFor.ADDRESS: now.address and not now.address.startswith(_LINK_LOCAL),
        }
        return bool(states[settings.wait_for])

    if ready(live):
        return live

    live = until(work.session, live, settings.timeouts.address, ready)
    if ready(live):
        return live
    joined = ""
    if settings.wait_for is VsphereWaitFor.JOINED:
        joined = f", {JOINED_KEY} is {live.extra_config.get(JOINED_KEY) or 'not set'}"
    raise failed(
        "timeout/guest",
        live=live,
        settings=settings,
        tools="run" if live.tools_running else "do not run",
        address=live.address or "none",
        joined=joined,
        left=said("timeout/stays", live=live),
    )


def _emptied(work: MachineWork, live: Observed, keys: tuple[str, ...]) -> Observed:
    """The machine without the values of these keys in its configuration. Safe to run again.

    Raises:
        VsphereError: vCenter refuses.
    """
    listed = ", ".join(key for key in keys if live.extra_config.get(key))

    def lacking(now: Observed) -> Begin | None:
        found = options({key: "" for key in keys if now.extra_config.get(key)})
        spec, doing = vim.vm.ConfigSpec(extraConfig=found), f"clearing keys of {live.name}"
        return (doing, lambda: live.reference.ReconfigVM_Task(spec)) if found else None

    return changed(work, live, lacking, f"the value of {listed} in {live.name}")
