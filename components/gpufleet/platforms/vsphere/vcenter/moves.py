"""Moving a machine to another resource pool or folder, while it runs."""

from collections.abc import Callable
from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.preflight import check_name
from gpufleet.platforms.vsphere.vcenter.reading import one
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.platforms.vsphere.vcenter.tasks import step

_ATTEMPTS = 3


def move(session: Session, settings: NodeSettings, found: FoundPlace, live: Observed) -> None:
    """Put the machine where it is declared to be. Safe to run again.

    Raises:
        VsphereError: the name is taken in the folder, or vCenter refuses.
    """
    machine = live.reference
    spec = vim.vm.RelocateSpec(pool=found.pool)
    _until_there(
        session,
        settings,
        live,
        ("resourcePool", found.pool),
        lambda: machine.RelocateVM_Task(spec),
    )
    if _at(session, live, "parent") != found.folder:
        check_name(session, found, settings, live.instance_uuid)
    _until_there(
        session,
        settings,
        live,
        ("parent", found.folder),
        lambda: found.folder.MoveIntoFolder_Task([machine]),
    )


def _until_there(
    session: Session,
    settings: NodeSettings,
    live: Observed,
    wanted: tuple[str, Any],
    start: Callable[[], Any],
) -> None:
    path, target = wanted
    doing = f"moving {live.name}"
    for _ in range(_ATTEMPTS):
        if _at(session, live, path) == target:
            return
        left = f"{live.name} may be on its way"
        step(session, start, settings.timeouts.reconfigure, doing, left)
    if _at(session, live, path) != target:
        raise VsphereError(
            Code.CONFLICT,
            f"{doing}: it is still elsewhere after {_ATTEMPTS} attempts",
            "look at the machine's events for who else moves it",
        )


def _at(session: Session, live: Observed, path: str) -> Any:
    return (one(session, live.reference, vim.VirtualMachine, (path,)) or {}).get(path)
