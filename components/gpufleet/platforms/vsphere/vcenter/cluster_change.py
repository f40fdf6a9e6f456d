"""Changing the settings of a cluster, which other people and programs change as well."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pyVmomi import vim, vmodl

from gpufleet.platforms.vsphere.vcenter.errors import Code, OutcomeUnknownError, VsphereError
from gpufleet.platforms.vsphere.vcenter.faults import translated
from gpufleet.platforms.vsphere.vcenter.history import last_event
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.tasks import TaskTimeoutError, run, timed_out

_ATTEMPTS = 4


def change_cluster(
    session: Session,
    compute: Any,
    lacking: Callable[[], Any | None],
    seconds: int,
    *,
    doing: str,
    subject: str,
    left: str,
    alone: AbstractContextManager[Any] | None = None,
) -> None:
    """Change the cluster until nothing lacks. Whoever else changes it meanwhile, or an answer that
    is lost, only makes it look again.

    Args:
        session: Login.
        compute: The cluster.
        lacking: Looks at the cluster and says what to change; None: it is as it should be.
        seconds: Longest one change may take.
        doing: What is done, for errors.
        subject: What still differs in the end.
        left: What a change that takes longer leaves.
        alone: Held from a look to the end of its change. Default: nothing.

    Raises:
        VsphereError: vCenter refuses, or somebody else changes it again and again.
    """
    for _ in range(_ATTEMPTS):
        with alone or nullcontext():
            spec = lacking()
            if spec is None:
                return
            try:
                run(
                    session,
                    lambda spec=spec: compute.ReconfigureComputeResource_Task(spec, True),
                    seconds,
                )
            except (OutcomeUnknownError, vim.fault.ConcurrentAccess):
                continue  # look again
            except TaskTimeoutError as problem:
                raise timed_out(doing, problem, "reconfigure", left) from None
            except vmodl.MethodFault as fault:
                raise translated(fault, doing) from None
    if lacking() is not None:
        raise VsphereError(
            Code.CONFLICT,
            f"{subject} still differs after {_ATTEMPTS} changes{last_event(session, compute)}",
            "look at the cluster's events for who else changes it",
        )
