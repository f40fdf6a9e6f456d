# pyright: standard
"""vCenter's faults in a person's words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet_vcenter.errors import Code, OutcomeUnknownError, VsphereError

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


def translated(fault: Any, doing: str, mmio_gib: int | None = None) -> VsphereError:
    """The failure of one step.

    Args:
        fault: What vCenter raised.
        doing: The step and its object, `cloning ml-gpu-0 from gpu-template`.
        mmio_gib: The MMIO window that was set, for a power-on.
    """
    code, text, remedy = _row(fault, mmio_gib)
    return VsphereError(code, f"{doing} failed: {text}", remedy, type(fault).__name__)


def _row(fault: Any, mmio_gib: int | None) -> tuple[Code, str, str]:
    if isinstance(fault, vim.fault.NoPermission):
        privilege = fault.privilegeId or "unknown"
        place = getattr(fault.object, "_moId", "the object")
        return (
            Code.PERMISSION,
            f"the privilege {privilege} on {place} is missing",
            f"grant {privilege} to the user on {place}, with propagation",
        )
    if isinstance(
        fault,
        (
            vim.fault.NoDiskSpace,
            vim.fault.InsufficientStorageSpace,
            vim.fault.DatastoreNotWritableOnHost,
        ),
    ):
        store = getattr(getattr(fault, "datastore", None), "_moId", "") or "the datastore"
        return (Code.DATASTORE_FULL, f"{store} has no room", "free space or name another datastore")
    if isinstance(fault, vim.fault.InsufficientMemoryResourcesFault):
        return (
            Code.MEMORY,
            f"{fault.requested >> 20} MiB must be reserved, {fault.unreserved >> 20} MiB are free",
            "machines with GPUs reserve all memory: choose a smaller machine or free a host",
        )
    if isinstance(fault, vim.fault.InsufficientCpuResourcesFault):
        return (
            Code.GPU_CAPACITY,
            f"{fault.requested} MHz must be reserved, {fault.unreserved} are free",
            "reserve less, or free a host",
        )
    if mmio_gib is not None and needs_more_mmio(fault):
        return (
            Code.MMIO,
            f"the GPUs' memory does not fit the MMIO window of {mmio_gib} GiB",
            f"set mmioGib to {mmio_gib * 2}, and `above 4G decoding` in the host's BIOS",
        )
    if isinstance(fault, NO_GPU_HERE):
        return (Code.GPU_CAPACITY, "no host has the GPUs free", "free GPUs or add a host")
    if isinstance(fault, vim.fault.QuestionPending):
        return (Code.QUESTION, f"the machine asks: {fault.text}", "answer it in the vSphere client")
    if isinstance(fault, (vmodl.fault.HostNotConnected, vim.fault.InvalidState)):
        return (Code.HOST_STATE, _text(fault), "look at the host's and the machine's state")
    if isinstance(fault, RETRIED):
        return (Code.BUSY, f"{_text(fault)}, also after waiting", "look at the running tasks")
    if isinstance(fault, vmodl.fault.NotSupported):
        return (Code.UNSUPPORTED, _text(fault), "see which vSphere version the feature needs")
    return (Code.FAULT, _text(fault), "")


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
        raise VsphereError(
            Code.CONNECTION, f"{doing}: the connection broke: {lost}", "run again"
        ) from None
