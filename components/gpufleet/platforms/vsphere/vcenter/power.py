# pyright: standard
"""Starting and stopping a machine."""

import time
from collections.abc import Callable
from contextlib import suppress

from pyVmomi import vim

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet.platforms.vsphere.vcenter.errors import Code, OutcomeUnknownError, VsphereError
from gpufleet.platforms.vsphere.vcenter.observed import Observed, observe
from gpufleet.platforms.vsphere.vcenter.owned import MachineWork
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.specs import mmio_of
from gpufleet.platforms.vsphere.vcenter.tasks import reported, run, wait
from gpufleet.spec.platforms.vsphere_policy import DeletePolicy

_ATTEMPTS = 3
_LOST_SECONDS = 2.0
"""How long a machine is watched after the answer to a call was lost, before it is repeated."""
_POLL_SECONDS = 0.25
_LONGEST_POLL_SECONDS = 5.0


def power_on(work: MachineWork, live: Observed) -> Observed:
    """The machine, running. One that runs already is fine; a suspended one is reported.

    Raises:
        VsphereError: it does not start; a fault that another host may not have keeps the code
            `vsphere-gpu-capacity`.
    """
    if live.power == "suspended":
        raise VsphereError(
            Code.HOST_STATE,
            f"{live.name} is suspended, which is not declared",
            "resume it or power it off in the vSphere client, then run again",
        )
    if live.power == "poweredOn":
        return live
    doing, mmio = f"powering on {live.name}", mmio_of(work.settings)
    with reported(doing, "powerOn", f"{live.name} exists", mmio):
        try:
            live = _started(work, live)
        except vim.fault.InvalidPowerState:
            live = still_there(work.session, live)
    if live.question:
        raise _asks(live)
    if live.power != "poweredOn":
        raise VsphereError(
            Code.HOST_STATE,
            f"{live.name} received the request to power on, but is {live.power}",
            "look at the machine's last events in vCenter",
        )
    return live


def _started(work: MachineWork, live: Observed) -> Observed:
    """The machine after the request to start it.

    A second request is safe: vCenter answers that the machine runs or is about to run. Therefore a
    lost answer is not awaited for the full time of a start.
    """
    for _ in range(_ATTEMPTS):
        try:
            _start(work, live)
            return still_there(work.session, live)
        except OutcomeUnknownError:
            live = until(work.session, live, _LOST_SECONDS, lambda now: now.power == "poweredOn")
            if live.power == "poweredOn":
                return live
    raise VsphereError(
        Code.CONNECTION,
        f"powering on {live.name}: the connection broke {_ATTEMPTS} times",
        "run again",
        left=f"{live.name} ({live.moref}) exists and is {live.power}",
    )


def _start(work: MachineWork, live: Observed) -> None:
    session, found, machine = work.session, work.place, live.reference
    seconds = work.settings.timeouts.power_on

    def watch() -> None:
        """A question holds the task up until someone answers it."""
        now = still_there(session, live)
        if now.question:
            raise _asks(now)

    if not found.is_cluster:
        run(session, machine.PowerOnVM_Task, seconds, watch)
        return
    # The call that lets DRS place what is free to move. Its own success says nothing of the
    # machine: that is in the task of the one attempt.
    outcome = run(session, lambda: found.datacenter.PowerOnMultiVM_Task([machine]), seconds, watch)
    for attempt in getattr(outcome, "notAttempted", None) or []:
        raise attempt.fault
    for attempt in getattr(outcome, "attempted", None) or []:
        if attempt.task is not None:
            wait(session, attempt.task, seconds, watch)


def _asks(live: Observed) -> VsphereError:
    return VsphereError(
        Code.QUESTION,
        f"powering on {live.name}: it asks: {live.question}",
        "answer it in the vSphere client, then run again",
        left=f"{live.name} ({live.moref}) waits for the answer",
    )


def power_off(work: MachineWork, live: Observed) -> Observed:
    """The machine, off: by its guest first where the policy says so, else at once."""
    session, machine, seconds = work.session, live.reference, work.settings.timeouts.shutdown
    soft = work.settings.delete_policy is DeletePolicy.TRY_SOFT
    # What refuses to go off is off already, or cannot be asked: then it is looked at again.
    passes = (vim.fault.InvalidPowerState, vim.fault.ToolsUnavailable, OutcomeUnknownError)
    with reported(f"powering off {live.name}", "shutdown", f"{live.name} still runs"):
        if soft and live.power == "poweredOn" and live.tools_running:
            with suppress(*passes):
                session.call(machine.ShutdownGuest, changes=True)
                live = until(session, live, seconds, lambda now: now.power == "poweredOff")
        for _ in range(_ATTEMPTS):
            if live.power != "poweredOff":
                with suppress(*passes):
                    run(session, machine.PowerOffVM_Task, seconds)
                live = still_there(session, live)
    return live


def still_there(session: Session, live: Observed) -> Observed:
    """The machine as it is now.

    Raises:
        VsphereError: it is gone: someone removed it meanwhile.
    """
    now = observe(session, live.reference)
    if now is None:
        raise VsphereError(
            Code.NOT_FOUND,
            f"{live.name} ({live.moref}) was removed while it was worked on",
            "run again: the machine is recreated",
        )
    return now


def until(
    session: Session, live: Observed, seconds: float, done: Callable[[Observed], bool]
) -> Observed:
    """The machine once `done` holds, it asks a question, the seconds are over, or the update was
    interrupted."""
    deadline = time.monotonic() + seconds
    pause = _POLL_SECONDS
    while True:
        live = still_there(session, live)
        if done(live) or live.question or time.monotonic() >= deadline or CANCELLED.is_set():
            return live
        CANCELLED.wait(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, _LONGEST_POLL_SECONDS)
