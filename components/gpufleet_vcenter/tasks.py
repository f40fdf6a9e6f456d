# pyright: standard
"""Wait for a task of vCenter with a deadline, because pyVmomi's own deadline is not reliable. Plain
texts for its faults."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed, rows_of
from gpufleet_vcenter.reading import last_event, one
from gpufleet_vcenter.session import Session, patient

_ROW_OF = {
    fault: name
    for name, row in rows_of("failures").items()
    for fault in row.get("faults", "").split()
}
"""Fault of vCenter -> row of `failures.jsonl`, also for the faults that derive from it."""

RETRIED = tuple(
    getattr(vim.fault, name, None) or getattr(vmodl.fault, name)
    for name, row in _ROW_OF.items()
    if row == "busy"
)
"""Faults that pass by themselves: tried again with growing pauses."""


def translated(fault: Any, doing: str, mmio_gib: int | None = None) -> VsphereError:
    """The failure of one step.

    Args:
        fault: The exception of vCenter.
        doing: The step and its object, `cloning ml-gpu-0 from gpu-template`.
        mmio_gib: The MMIO window that was set, for a power-on.
    """
    kinds = (kind.__name__.rpartition(".")[2] for kind in type(fault).__mro__)
    row = next(_ROW_OF[kind] for kind in kinds if kind in _ROW_OF)
    text = str(getattr(fault, "msg", "") or "")
    if mmio_gib is not None and ("DevicePowerOn" in text or "64bitMMIO" in text):
        row = "mmio"  # the GPUs' memory does not fit the window
    return failed(
        row,
        fault=type(fault).__name__,
        doing=doing,
        text=text or str(getattr(fault, "faultMessage", "") or "vCenter refuses"),
        privilege=getattr(fault, "privilegeId", None) or "unknown",
        place=getattr(getattr(fault, "object", None), "_moId", "the object"),
        store=getattr(getattr(fault, "datastore", None), "_moId", "") or "the datastore",
        told=fault,
        requested_mib=getattr(fault, "requested", 0) >> 20,
        unreserved_mib=getattr(fault, "unreserved", 0) >> 20,
        mmio_gib=mmio_gib,
        twice=2 * (mmio_gib or 0),
    )


_PATHS = ("info.state", "info.error", "info.progress", "info.result")


class TaskTimeoutError(Exception):
    """The task did not end in time. It may still."""

    def __init__(self, seconds: int, progress: int | None, task: str = "") -> None:
        self.seconds, self.progress = seconds, "" if progress is None else f" at {progress} %"
        self.progress += f" ({task})" if task else ""
        super().__init__(f"not done after {seconds} s")


def wait(session: Session, task: Any, seconds: int, watch: Callable[[], None] | None = None) -> Any:
    """The result of a task.

    Args:
        seconds: Maximum duration.
        watch: Called repeatedly during a long task, once pauses are 0.5 s; its exceptions end the
            wait. Default: no call.

    Raises:
        OutcomeUnknownError: vCenter does not know the task: it was restarted, or the task ended
            long ago. What the task was to do may be done or not, so it says nothing of its object.
        TaskTimeoutError: it was not done after `seconds`.
        VsphereError: the update was interrupted; the task goes on.
        vmodl.MethodFault: the fault it ended with.
    """
    found: Mapping[str, Any] | None = {}
    for pause in turns(seconds, f"waiting for {task._moId}", pauses=(0.05, 2.0)):
        found = one(session, task, vim.Task, _PATHS)
        if found is None:
            raise OutcomeUnknownError(f"vCenter does not know {task._moId} any more")
        if found.get("info.state") == vim.TaskInfo.State.success:
            return found.get("info.result")
        if found.get("info.state") == vim.TaskInfo.State.error:
            raise found["info.error"]
        if watch is not None and pause >= 0.5:
            watch()
    raise TaskTimeoutError(seconds, found.get("info.progress"), str(task._moId))


def turns(
    seconds: float,
    doing: str,
    left: str = "",
    pauses: tuple[float, float] = (0.25, 5.0),
) -> Iterator[float]:
    """Turns of a wait until the seconds are over, at least one, and none after the update was
    interrupted. Each is the pause that follows it.

    Args:
        seconds: Longest it may take; the last turn is then.
        doing: The waiting step, for errors.
        left: What exists if the wait is interrupted.
        pauses: First and longest pause.

    Raises:
        VsphereError: the update was interrupted.
    """
    deadline = time.monotonic() + seconds
    pause, longest = pauses
    while True:
        if CANCELLED.is_set():
            raise failed("interrupted", doing=doing, left=left)
        yield pause
        now = time.monotonic()
        if now >= deadline:
            return
        CANCELLED.wait(min(pause, deadline - now))
        pause = min(pause * 1.5, longest)


def run(
    session: Session,
    start: Callable[[], Any],
    seconds: int,
    watch: Callable[[], None] | None = None,
) -> Any:
    """Start a task and wait for it; faults that pass by themselves are tried again for minutes: a
    backup or a migration of the machine holds other tasks up for as long as it takes.

    Raises:
        OutcomeUnknownError: the answer to the start was lost, or the task was.
        TaskTimeoutError: it was not done in time.
        vmodl.MethodFault: anything else vCenter answers.
    """
    attempts = patient(RETRIED, 0.5, 15)
    try:
        return attempts(lambda: wait(session, session.call(start, changes=True), seconds, watch))
    except vim.fault.TaskInProgress as fault:
        busy: Any = fault
        paths = ("info.descriptionId", "info.progress")
        found = (busy.task and one(session, busy.task, vim.Task, paths)) or {}
        busy.msg = busy.msg or "another task is in progress"
        if what := found.get("info.descriptionId"):
            busy.msg += f": {what}, {found.get('info.progress') or 0} % done"
        raise


_ATTEMPTS = 4
Begin = tuple[str, Callable[[], Any]]
"""A change, for errors, and the function that starts it."""


def changed_until(
    session: Session,
    item: Any,
    lacking: Callable[[], Begin | None],
    seconds: int,
    what: str,
    kind: str,
    mmio_gib: int | None = None,
) -> None:
    """Change an object until it is as declared. After a change, also a concurrent one or one whose
    answer was lost, the object is read again.

    Args:
        lacking: Reads the object and returns the change; None: the object is as declared.
        seconds: Maximum duration of one change.
        what: Name of the object, for errors.
        kind: Kind of the object, for errors.
        mmio_gib: MMIO window of the machine, where a fault may mean that it is too small.

    Raises:
        VsphereError: a change was not done in time, vCenter refuses, or others change the object
            repeatedly.
    """
    passes = (vim.fault.ConcurrentAccess, vim.fault.AlreadyUpgraded, OutcomeUnknownError)
    for _ in range(_ATTEMPTS):
        begin = lacking()
        if begin is None:
            return
        left = f"{what} may change yet"
        with in_words(begin[0], "reconfigure", left, mmio_gib), suppress(*passes):
            run(session, begin[1], seconds)
    if lacking() is not None:
        event, row = last_event(session, item), "conflict/object"
        raise failed(row, what=what, attempts=_ATTEMPTS, event=event, kind=kind)


@contextmanager
def in_words(
    doing: str,
    setting: str = "",
    left: str | Callable[[], str] = "",
    mmio_gib: int | None = None,
) -> Iterator[None]:
    """Exceptions of vCenter inside the block, as one paragraph.

    Args:
        doing: The step and its object.
        setting: Timeout that allows more, for one step. Default: for many steps, each with its own
            text after an interrupt.
        left: What exists if it takes longer or is interrupted.
        mmio_gib: MMIO window of the machine, where a fault may mean that it is too small.

    Raises:
        VsphereError: for every fault, for a task that takes too long or is interrupted, and for a
            connection that broke.
    """
    stays = left if callable(left) else lambda: left
    try:
        yield
    except TaskTimeoutError as late:
        raise failed("timeout", left=stays(), step=doing, problem=late, setting=setting) from None
    except VsphereError as failure:
        if setting and failure.code == "vsphere-interrupted" and not failure.left:
            raise failed("interrupted", doing=doing, left=stays()) from None
        raise
    except vmodl.MethodFault as fault:
        raise translated(fault, doing, mmio_gib) from None
    except OutcomeUnknownError as lost:
        raise failed("connection/call", doing=doing, lost=lost) from None
