# pyright: standard
"""Machines with our marks that no state declares. The vCenter is only read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpufleet_vcenter.identity import Standing, group_of, stack_of
from gpufleet_vcenter.lookup import inventory_path
from gpufleet_vcenter.node import BATCH, GROUP, MACHINE, OWNER
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.opened import asked
from gpufleet_vcenter.remove import marked_machines

_NODES = (MACHINE, ":VsphereGpuNode")
"""Types of one machine in states of earlier versions."""
_GROUPS = (GROUP, BATCH, ":VsphereGpuNodeBatch")


class StateStanding(StrEnum):
    """Relation of a marked machine to the given states, in the order of a report."""

    ORPHAN = "orphan"
    """Its stack is known, and no longer declares it."""
    COPY = "copy"
    """It has the marks of a machine and another uuid: a copy or a restored backup."""
    PENDING = "pending"
    """An update was interrupted, and the state has the id in the machine's marks: the next `pulumi
    up` completes or removes the machine, as declared, and `pulumi destroy` removes it."""
    ELSEWHERE = "elsewhere"
    """It belongs to a stack whose state was not given: its relation is unknown."""
    DECLARED = "declared"
    """A resource has it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Machines and groups in the given states."""

    stacks: set[str]
    """`organisation/project/stack` of each state."""
    uuids: set[str]
    """Instance uuid of each machine that a resource has."""
    ids: set[str]
    """Ids of groups: the next update handles machines with such an id and without a resource."""
    groups: set[str]
    """Owners of groups, for machines that were made before there were ids."""


def declared_by(states: Iterable[Mapping[str, Any]], stacks: Iterable[str] = ()) -> Declared:
    """Machines and groups in exported states (`pulumi stack export`).

    Args:
        states: The documents.
        stacks: Stacks that no longer declare machines, as `organisation/project/stack`.

    Raises:
        ValueError: a document is not an exported state.
    """
    found = Declared(set(stacks), set(), set(), set())
    for state in states:
        deployment: Mapping[str, Any] | None = state.get("deployment")
        if deployment is None:
            raise ValueError("it has no `deployment`: give the output of `pulumi stack export`")
        operations = deployment.get("pending_operations") or []
        for resource in deployment.get("resources") or []:
            _read(resource, found)
            found.uuids.update(_uuids(resource))
        for operation in operations:
            _read(operation.get("resource") or {}, found)
    return found


def _read(resource: Mapping[str, Any], found: Declared) -> None:
    """Add the group of a resource, if the state has it unencrypted."""

    def texts(name: str, *types: str) -> set[str]:
        parts = (resource.get("inputs") or {}, resource.get("outputs") or {})
        known = {part[name] for part in parts if isinstance(part.get(name), str)}
        return known if _of(resource, *types) else set()

    groups = texts("group", *_GROUPS, OWNER)
    found.groups.update(groups)
    found.stacks.update(stack_of(owner) for owner in groups | texts("owner", *_NODES))
    found.ids.update(texts("life", *_GROUPS, *_NODES))
    if _of(resource, OWNER) and resource.get("id"):
        found.ids.add(str(resource["id"]))


def _of(resource: Mapping[str, Any], *types: str) -> bool:
    return str(resource.get("type", "")).endswith(types)


def _uuids(resource: Mapping[str, Any]) -> set[str]:
    """Instance uuids of the machines that a resource has. The list of machines may be secret."""
    if _of(resource, *_NODES):
        return {str(resource.get("id", "")).lower()}
    rows: Mapping[str, Any] = (resource.get("outputs") or {}).get("ids") or {}
    ours = rows.values() if _of(resource, GROUP) else ()
    return {str(row["instanceUuid"]).lower() for row in ours}


def state_standing(server: str, live: Observed, declared: Declared) -> StateStanding:
    """Relation of a machine to the states.

    Args:
        server: The vCenter's own instance uuid.
        live: The machine, with its marks.
        declared: Machines and groups in the states.
    """
    owner, life = live.owner, live.life
    own = live.standing_in(server, group_of(owner), life)
    if own is Standing.COPY:
        return StateStanding.COPY
    if live.instance_uuid in declared.uuids:
        return StateStanding.DECLARED
    of_group = own is Standing.PENDING and group_of(owner) in declared.groups
    if life in declared.ids or (not life and of_group):
        return StateStanding.PENDING
    known = stack_of(owner) in declared.stacks
    return StateStanding.ORPHAN if known else StateStanding.ELSEWHERE


def ask_orphans(
    endpoint: Mapping[str, Any], datacenter: str, declared: Declared
) -> list[dict[str, Any]]:
    """Every machine with our marks in the datacenter and its relation to the states; only reads.

    Args:
        endpoint: Fields of `Endpoint`, camelCase.
        datacenter: Name or inventory path.
        declared: Machines and groups in the states.

    Raises:
        VsphereError: the vCenter cannot be reached, or the name is not found.
    """
    rows: list[dict[str, Any]] = []
    with asked(endpoint, datacenter, f"looking for machines in {datacenter}") as (session, center):
        for live in marked_machines(session, center):
            rows.append(
                {
                    "standing": state_standing(session.server_id, live, declared).value,
                    "name": live.name,
                    "path": inventory_path(session, live.reference),
                    "moRef": live.moref,
                    "instanceUuid": live.instance_uuid,
                    "owner": live.owner,
                    "stack": stack_of(live.owner),
                    "poweredOn": live.is_on,
                    "pending": live.is_pending,
                }
            )
    order = [item.value for item in StateStanding]
    return sorted(rows, key=lambda item: (order.index(item["standing"]), item["path"]))
