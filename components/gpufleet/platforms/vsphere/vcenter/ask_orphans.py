"""Asking a vCenter for the machines with our marks; it only reads."""

from collections.abc import Mapping
from typing import Any

from gpufleet.platforms.vsphere.vcenter.ask_inventory import asked
from gpufleet.platforms.vsphere.vcenter.identity import (
    GENERATION,
    OWNER,
    PENDING,
    UUID,
    MachineIdentity,
)
from gpufleet.platforms.vsphere.vcenter.lookup import inventory_path
from gpufleet.platforms.vsphere.vcenter.orphan_report import (
    Declared,
    MarkedMachine,
    Standing,
    row,
    standing,
)
from gpufleet.platforms.vsphere.vcenter.session import Session
from gpufleet.platforms.vsphere.vcenter.sweep import marked_machines


def ask_orphans(
    endpoint: Mapping[str, Any], datacenter: str, declared: Declared
) -> list[dict[str, Any]]:
    """Every machine with our marks in the datacenter, and what it is to the states; only reads.

    Args:
        endpoint: Fields of `Endpoint`, camelCase.
        datacenter: Name or inventory path.
        declared: What states declare.

    Raises:
        VsphereError: the vCenter cannot be asked, or the name is not found.
    """
    doing = f"looking for machines in {datacenter}"
    with asked(endpoint, datacenter, doing) as (session, center):
        return _rows(session, center, declared)


def _rows(session: Session, center: Any, declared: Declared) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for machine, about, extra in marked_machines(session, center):
        generation = extra.get(GENERATION, "")
        identity = MachineIdentity(session.server_id, extra[OWNER], generation)
        marked = MarkedMachine(
            str(about.get("name", "")),
            inventory_path(session, machine),
            str(machine._moId),
            str(about.get("config.instanceUuid", "")).lower(),
            extra[OWNER],
            extra.get(UUID, identity.instance_uuid),
            str(about.get("runtime.powerState")) == "poweredOn",
            bool(extra.get(PENDING)),
        )
        rows.append(row(marked, standing(marked, generation, declared)))
    order = [item.value for item in (Standing.ORPHAN, Standing.COPY, Standing.PENDING)]
    order += [Standing.ELSEWHERE.value, Standing.DECLARED.value]
    return sorted(rows, key=lambda item: (order.index(item["standing"]), item["path"]))
