# pyright: standard
"""Machines with our marks that no state declares. The vCenter is only read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpufleet_vcenter.identity import LIFE, OWNER, PENDING, Standing, group_of, stack_of, standing
from gpufleet_vcenter.lookup import inventory_path
from gpufleet_vcenter.observed import Observed
from gpufleet_vcenter.opened import asked
from gpufleet_vcenter.remove import marked_machines

_NODES = ("gpufleet:vsphere:Machine", ":VsphereGpuNode")
"""Types of one machine in states of earlier versions."""
_GROUPS = ("gpufleet:vsphere:MachineGroup", "gpufleet:vsphere:MachineBatch", ":VsphereGpuNodeBatch")
_OWNER = "gpufleet:vsphere:MachineOwner"


class StateStanding(StrEnum):
    """What a marked machine is to the states that were given, in the order of a report."""

    ORPHAN = "orphan"
    """Its stack is known here, and declares it no more."""
    COPY = "copy"
    """It carries the marks of a machine and another uuid: someone copied or restored it."""
    PENDING = "pending"
    """An update was cut off, and the state has the id that the machine carries: the next
    `pulumi up` completes or removes it, as the declaration says, and `pulumi destroy` removes
    it."""
    ELSEWHERE = "elsewhere"
    """It belongs to a stack whose state was not given: nothing can be said of it."""
    DECLARED = "declared"
    """A resource has it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What states say of machines."""

    stacks: set[str]
    """`organisation/project/stack` of each state."""
    uuids: set[str]
    """Instance uuid of each machine that a resource has."""
    ids: set[str]
    """Ids of groups: what carries one and no resource has is the next update's."""
    groups: set[str]
    """Owners of groups, for machines that were made before there were ids."""


def declared_by(states: Iterable[Mapping[str, Any]], stacks: Iterable[str] = ()) -> Declared:
    """What exported states (`pulumi stack export`) declare.

    Args:
        states: The documents.
        stacks: Stacks that are known to declare nothing more, as `organisation/project/stack`.

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
    """What a resource says of its group, where a state has it in readable form."""

    def texts(name: str, *types: str) -> set[str]:
        parts = (resource.get("inputs") or {}, resource.get("outputs") or {})
        known = {part[name] for part in parts if isinstance(part.get(name), str)}
        return known if _of(resource, *types) else set()

    groups = texts("group", *_GROUPS, _OWNER)
    found.groups.update(groups)
    found.stacks.update(stack_of(owner) for owner in groups | texts("owner", *_NODES))
    found.ids.update(texts("life", *_GROUPS, *_NODES))
    if _of(resource, _OWNER) and resource.get("id"):
        found.ids.add(str(resource["id"]))


def _of(resource: Mapping[str, Any], *types: str) -> bool:
    return str(resource.get("type", "")).endswith(types)


def _uuids(resource: Mapping[str, Any]) -> set[str]:
    """Instance uuids of the machines that a resource has. The list of machines may be secret."""
    if _of(resource, *_NODES):
        return {str(resource.get("id", "")).lower()}
    rows: Mapping[str, Any] = (resource.get("outputs") or {}).get("ids") or {}
    ours = rows.values() if _of(resource, _GROUPS[0]) else ()
    return {str(row["instanceUuid"]).lower() for row in ours}


def state_standing(server: str, live: Observed, declared: Declared) -> StateStanding:
    """What a machine is to the states.

    Args:
        server: The vCenter's own instance uuid.
        live: The machine, with its marks.
        declared: What the states say.
    """
    owner, life = live.extra_config[OWNER], live.extra_config.get(LIFE, "")
    own = standing(server, group_of(owner), life, live.instance_uuid, live.extra_config)
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
    """Every machine with our marks in the datacenter, and what it is to the states; only reads.

    Args:
        endpoint: Fields of `Endpoint`, camelCase.
        datacenter: Name or inventory path.
        declared: What states declare.

    Raises:
        VsphereError: the vCenter cannot be asked, or the name is not found.
    """
    rows: list[dict[str, Any]] = []
    with asked(endpoint, datacenter, f"looking for machines in {datacenter}") as (session, center):
        for live in marked_machines(session, center):
            owner = live.extra_config[OWNER]
            rows.append(
                {
                    "standing": state_standing(session.server_id, live, declared).value,
                    "name": live.name,
                    "path": inventory_path(session, live.reference),
                    "moRef": live.moref,
                    "instanceUuid": live.instance_uuid,
                    "owner": owner,
                    "stack": stack_of(owner),
                    "poweredOn": live.is_on,
                    "pending": bool(live.extra_config.get(PENDING)),
                }
            )
    order = [item.value for item in StateStanding]
    return sorted(rows, key=lambda item: (order.index(item["standing"]), item["path"]))
