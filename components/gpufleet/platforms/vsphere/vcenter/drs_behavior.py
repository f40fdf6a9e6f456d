"""What DRS may do with one machine: an override in the settings of its cluster."""

from typing import Any

from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.cluster_change import change_cluster
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.lookup import FoundPlace
from gpufleet.platforms.vsphere.vcenter.observed import Observed
from gpufleet.platforms.vsphere.vcenter.reading import one
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings
from gpufleet.spec.platforms.vsphere_devices import DrsBehavior

_PATH = "configurationEx.drsVmConfig"


def behave(session: Session, found: FoundPlace, settings: NodeSettings, live: Observed) -> None:
    """Write the machine's override, or remove it where none is declared. Safe to run again: each
    machine has an override of its own, so nobody's is lost.

    Raises:
        VsphereError: the place is no cluster, or vCenter refuses.
    """
    wanted = settings.drs_behavior
    if not found.is_cluster:
        if wanted is None:
            return
        raise VsphereError(
            Code.DRS_BEHAVIOR,
            f"drsBehavior is {wanted.value}, and a standalone host has no DRS",
            "name a cluster, or leave drsBehavior out",
        )
    doing = f"setting what DRS may do with {live.name}"
    change_cluster(
        session,
        found.compute,
        lambda: override_change(wanted, _override(session, found, live), live),
        settings.timeouts.reconfigure,
        doing=doing,
        subject=f"{doing}: it",
        left=f"{live.name} exists, and its setting may change yet",
    )


def _override(session: Session, found: FoundPlace, live: Observed) -> Any | None:
    known = one(session, found.compute, vim.ClusterComputeResource, (_PATH,)) or {}
    rows = known.get(_PATH) or ()
    return next((row for row in rows if row.key == live.reference), None)


def override_change(wanted: DrsBehavior | None, now: Any | None, live: Observed) -> Any | None:
    """The change of the cluster that makes the override what is wanted; None: it is."""
    operations = vim.option.ArrayUpdateSpec.Operation
    if wanted is None:
        if now is None:
            return None
        row = vim.cluster.DrsVmConfigSpec(operation=operations.remove, removeKey=live.reference)
    else:
        enabled = wanted is not DrsBehavior.DISABLED
        if now is not None and _is(now, wanted):
            return None
        row = vim.cluster.DrsVmConfigSpec(
            operation=operations.add if now is None else operations.edit,
            info=vim.cluster.DrsVmConfigInfo(
                key=live.reference,
                enabled=enabled,
                behavior=wanted.value if enabled else None,
            ),
        )
    return vim.cluster.ConfigSpecEx(drsVmConfigSpec=[row])


def _is(now: Any, wanted: DrsBehavior) -> bool:
    if wanted is DrsBehavior.DISABLED or not now.enabled:
        return wanted is DrsBehavior.DISABLED and not now.enabled
    return str(now.behavior) == wanted.value
