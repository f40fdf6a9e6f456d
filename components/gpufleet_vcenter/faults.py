# pyright: standard
"""vCenter's faults in a person's words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed

RETRIED = (
    vim.fault.TaskInProgress,
    vim.fault.ResourceInUse,
    vim.fault.TooManyConcurrentNativeClones,
    vmodl.fault.HostCommunication,
    vim.fault.Timedout,
)
"""Faults that pass by themselves: tried again with growing pauses."""

NO_GPU_HERE = (
    vim.fault.InsufficientGraphicsResourcesFault,
    vim.fault.NoCompatibleHost,
    vim.fault.NoCompatibleHostWithAccessToDevice,
)
"""Power-on faults that another host may not have."""


def needs_more_mmio(fault: Any) -> bool:
    """Whether a power-on failed because the GPUs' memory does not fit the MMIO window."""
    text = str(getattr(fault, "msg", "") or "")
    return "DevicePowerOn" in text or "64bitMMIO" in text


_ROWS: tuple[tuple[str, Any], ...] = (
    ("permission/fault", vim.fault.NoPermission),
    ("datastore-full/fault", (vim.fault.NoDiskSpace, vim.fault.InsufficientStorageSpace)),
    ("datastore-full/fault", vim.fault.DatastoreNotWritableOnHost),
    ("memory", vim.fault.InsufficientMemoryResourcesFault),
    ("gpu-capacity/cpu", vim.fault.InsufficientCpuResourcesFault),
    ("gpu-capacity/fault", NO_GPU_HERE),
    ("question/fault", vim.fault.QuestionPending),
    ("host-state/fault", (vmodl.fault.HostNotConnected, vim.fault.InvalidState)),
    ("busy", RETRIED),
    ("unsupported/fault", vmodl.fault.NotSupported),
    ("fault", Exception),
)
"""Row of `failures.jsonl`, and the faults that it tells of; the first that fits."""


def translated(fault: Any, doing: str, mmio_gib: int | None = None) -> VsphereError:
    """The failure of one step.

    Args:
        fault: What vCenter raised.
        doing: The step and its object, `cloning ml-gpu-0 from gpu-template`.
        mmio_gib: The MMIO window that was set, for a power-on.
    """
    row = next(row for row, kinds in _ROWS if isinstance(fault, kinds))
    if mmio_gib is not None and needs_more_mmio(fault):
        row = "mmio"
    return failed(
        row,
        fault=type(fault).__name__,
        doing=doing,
        text=_text(fault),
        privilege=getattr(fault, "privilegeId", None) or "unknown",
        place=getattr(getattr(fault, "object", None), "_moId", "the object"),
        store=getattr(getattr(fault, "datastore", None), "_moId", "") or "the datastore",
        requested=getattr(fault, "requested", 0),
        unreserved=getattr(fault, "unreserved", 0),
        requested_mib=getattr(fault, "requested", 0) >> 20,
        unreserved_mib=getattr(fault, "unreserved", 0) >> 20,
        question=getattr(fault, "text", ""),
        mmio_gib=mmio_gib,
        twice=2 * (mmio_gib or 0),
    )


def _text(fault: Any) -> str:
    return str(getattr(fault, "msg", "") or getattr(fault, "faultMessage", "") or "vCenter refuses")


@contextmanager
def in_words(doing: str) -> Iterator[None]:
    """Whatever vCenter raises inside that no step expected, as one paragraph.

    Raises:
        VsphereError: for every fault, and for a connection that broke.
    """
    try:
        yield
    except vmodl.MethodFault as fault:
        raise translated(fault, doing) from None
    except OutcomeUnknownError as lost:
        raise failed("connection/call", doing=doing, lost=lost) from None
