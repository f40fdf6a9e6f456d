# pyright: standard
"""Machines with our marks that no state declares. The vCenter is only read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpufleet_vcenter.identity import Standing, stack_of
from gpufleet_vcenter.lookup import inventory_path
from gpufleet_vcenter.node import GROUP, OWNER
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.owned import asked
from gpufleet_vcenter.remove import marked_machines


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


def declared_by(states: Iterable[Mapping[str, Any]], stacks: Iterable[str] = ()) -> Declared:
    """Machines and groups in exported states (`pulumi stack export`).

    Args:
        states: The documents.
        stacks: Stacks that no longer declare machines, as `organisation/project/stack`.

    Raises:
        ValueError: a document is not an exported state.
    """
    found = Declared(set(stacks), set(), set())
    for state in states:
        deployment: Mapping[str, Any] | None = state.get("deployment")
        if deployment is None:
            raise ValueError("it has no `deployment`: give the output of `pulumi stack export`")
        begun = (row.get("resource") or {} for row in deployment.get("pending_operations") or ())
        pending = ({**resource, "outputs": {}} for resource in begun)
        for resource in (*(deployment.get("resources") or ()), *pending):
            kind, given, outs = (resource.get(name) or {} for name in ("type", "inputs", "outputs"))
            if kind not in (GROUP, OWNER):
                continue
            found.stacks.add(stack_of(str(given.get("group", ""))))
            life = resource.get("id") if kind == OWNER else given.get("life")
            found.ids.update({str(life)} if life else ())
            # The list of its machines may be encrypted; their ids are not.
            rows: Mapping[str, Any] = outs.get("ids") or {}
            found.uuids.update(str(row["instanceUuid"]).lower() for row in rows.values())
    return found


def state_standing(live: Observed, declared: Declared) -> StateStanding:
    """Relation of a machine to the states."""
    if live.standing_in(live.life) is Standing.COPY:
        return StateStanding.COPY
    if live.instance_uuid in declared.uuids:
        return StateStanding.DECLARED
    if live.life in declared.ids:
        return StateStanding.PENDING
    known = stack_of(live.owner) in declared.stacks
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
                    "standing": state_standing(live, declared).value,
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
