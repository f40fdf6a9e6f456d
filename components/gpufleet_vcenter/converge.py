# pyright: standard
"""Changes of a machine to its declaration, from any state: reconfiguration, start and stop,
progress of its guest and node, and removal of data that is no longer needed. Safe to repeat."""

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
from gpufleet_vcenter.observed import Observed, observe
from gpufleet_vcenter.owned import MachineWork
from gpufleet_vcenter.preflight import check_name
from gpufleet_vcenter.reading import last_event, one
from gpufleet_vcenter.session import Session
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.specs import difference, mmio_of
from gpufleet_vcenter.tasks import changed_until, in_words, run, step, turns, wait

_ATTEMPTS = 4
"""Times a reconfiguration is computed again after others changed the machine meanwhile."""


def converge(
    work: MachineWork, live: Observed, *, first_boot: bool, before: NodeSettings | None = None
) -> Observed:
    """Reconfigure the differences. Returns the machine afterwards.

    A machine that must be off, and may be, is drained first and powered off.

    Args:
        first_boot: Whether its guest has not started yet.
        before: The previous declaration; parts no longer declared are removed. Default: none.

    Raises:
        VsphereError: a difference cannot be fixed, or needs the machine off and the update
            policy does not allow that.
    """
    session, settings = work.session, work.settings
    for _ in range(_ATTEMPTS):
        lacking = difference(work, live, first_boot, before)
        if lacking.refused:
            raise VsphereError("vsphere-fault", f"{live.name}: {'; '.join(lacking.refused)}")
        if not lacking.parts and lacking.upgrade is None:
            return live
        if lacking.off and live.power != "poweredOff":
            if settings.update_policy is not VsphereUpdatePolicy.RESTART:
                raise failed("needs-power-off", live=live, paths=lacking.off)
            if live.power == "poweredOn":
                with node_of(settings, live.bios_uuid) as node:
                    if node is not None:
                        node.empty(live.instance_uuid)
            live = power_off(work, live)
            continue
        if lacking.upgrade is not None:
            upgrade(session, settings, live, lacking.upgrade)
            live = still_there(session, live)
            if not lacking.parts:
                continue
        version, machine = live.change_version or None, live.reference
        spec = vim.vm.ConfigSpec(**lacking.parts, changeVersion=version)
        step(
            session,
            lambda machine=machine, spec=spec: machine.ReconfigVM_Task(spec),
            settings.timeouts.reconfigure,
            f"reconfiguring {live.name}",
            f"{live.name} exists",
            mmio_gib=mmio_of(settings),
        )
        live = still_there(session, live)
        lacking = difference(work, live, first_boot, before)
        if not lacking.parts and lacking.upgrade is None:
            return live
    raise failed(
        "conflict/machine", live=live, attempts=_ATTEMPTS, event=last_event(session, live.reference)
    )


def upgrade(session: Session, settings: NodeSettings, live: Observed, version: int) -> None:
    """Upgrade the machine. The caller reads it afterwards: a lost answer, and a machine that
    already has the version, are not errors.

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
    """Move the machine to its declared place. Safe to run again.

    Raises:
        VsphereError: the name is taken in the folder, or vCenter refuses.
    """
    machine, pool, folder = live.reference, work.place.pool, work.place.folder
    spec = vim.vm.RelocateSpec(pool=pool)
    wanted: dict[str, tuple[Any, Callable[[], Any]]] = {
        "resourcePool": (pool, lambda: machine.RelocateVM_Task(spec)),
        "parent": (folder, lambda: folder.MoveIntoFolder_Task([machine])),
    }

    def wrong() -> dict[str, Callable[[], Any]]:
        now = one(work.session, machine, vim.VirtualMachine, tuple(wanted)) or {}
        return {path: start for path, (to, start) in wanted.items() if now.get(path) != to}

    if "parent" in wrong():
        check_name(work, work.named())
    what, seconds = f"the place of {live.name}", work.settings.timeouts.reconfigure
    changed_until(
        work.session, machine, lambda: next(iter(wrong().values()), None), seconds, what, "machine"
    )


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


def still_there(session: Session, live: Observed) -> Observed:
    """The machine at present.

    Raises:
        VsphereError: it was removed meanwhile.
    """
    now = observe(session, live.reference)
    if now is None:
        raise failed("not-found/removed", live=live)
    return now


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
    with node_of(work.settings, live.bios_uuid) as node:
        if node is not None:
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
    machine, now = live.reference, live
    known = True  # its state

    def lacking() -> Callable[[], Any] | None:
        nonlocal now, known
        now = now if known else still_there(work.session, now)
        known = False
        empty = [
            vim.option.OptionValue(key=key, value="") for key in keys if now.extra_config.get(key)
        ]
        spec = vim.vm.ConfigSpec(extraConfig=empty)
        return (lambda: machine.ReconfigVM_Task(spec)) if empty else None

    listed = ", ".join(key for key in keys if live.extra_config.get(key))
    what, seconds = f"the value of {listed} in {live.name}", work.settings.timeouts.reconfigure
    changed_until(work.session, machine, lacking, seconds, what, "machine")
    return now
