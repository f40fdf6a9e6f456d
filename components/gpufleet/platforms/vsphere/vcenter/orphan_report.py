# pyright: standard
"""Machines with our marks that no state declares. The vCenter is only read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gpufleet.platforms.vsphere.vcenter.identity import (
    GENERATION,
    OWNER,
    PENDING,
    is_copy,
)
from gpufleet.platforms.vsphere.vcenter.lookup import inventory_path
from gpufleet.platforms.vsphere.vcenter.opened import asked
from gpufleet.platforms.vsphere.vcenter.remove import marked_machines

_NODES = ("gpufleet:vsphere:Machine", ":VsphereGpuNode")
_BATCHES = (
    "gpufleet:vsphere:MachineOwner",
    "gpufleet:vsphere:MachineBatch",
    ":VsphereGpuNodeBatch",
)
"""Types of resources, now and in states of the former dynamic provider."""


class Standing(StrEnum):
    """What a marked machine is to the states that were given, in the order of a report."""

    ORPHAN = "orphan"
    """Its stack is known here, and declares it no more."""
    COPY = "copy"
    """It carries the marks of a machine and another uuid: someone copied or restored it."""
    PENDING = "pending"
    """An update was cut off while it was made, and the state knows: the next `pulumi up` goes on
    with it, and `pulumi destroy` removes what a batch made."""
    ELSEWHERE = "elsewhere"
    """It belongs to a stack whose state was not given: nothing can be said of it."""
    DECLARED = "declared"
    """A resource has it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What states say of machines."""

    stacks: frozenset[str]
    """`organisation/project/stack` of each state."""
    owners: frozenset[tuple[str, str]]
    """Owner and generation of each machine that a resource has."""
    pending: frozenset[tuple[str, str]]
    """The same for operations that were cut off."""
    groups: frozenset[str]
    """Groups that a batch makes machines for: what it made and no resource took over is its own."""


def declared_by(states: Iterable[Mapping[str, Any]], stacks: Iterable[str] = ()) -> Declared:
    """What exported states (`pulumi stack export`) declare.

    Args:
        states: The documents.
        stacks: Stacks that are known to declare nothing more, as `organisation/project/stack`.

    Raises:
        ValueError: a document is not an exported state.
    """
    known: set[str] = set(stacks)
    owners: set[tuple[str, str]] = set()
    pending: set[tuple[str, str]] = set()
    groups: set[str] = set()
    for state in states:
        deployment: Mapping[str, Any] | None = state.get("deployment")
        if deployment is None:
            raise ValueError("it has no `deployment`: give the output of `pulumi stack export`")
        operations = [
            item.get("resource") or {} for item in deployment.get("pending_operations") or []
        ]
        for resource in deployment.get("resources") or []:
            owners |= _machines(resource)
            groups |= _groups(resource)
        for resource in operations:
            pending |= _machines(resource)
            groups |= _groups(resource)
    known |= {_stack(owner) for owner, _ in owners | pending} | {_stack(name) for name in groups}
    return Declared(frozenset(known), frozenset(owners), frozenset(pending), frozenset(groups))


def _machines(resource: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Owner and generation of the machine that a resource is."""
    if not str(resource.get("type", "")).endswith(_NODES):
        return set()
    return {
        (str(values["owner"]), str(values.get("generation", "")))
        for values in (resource.get("outputs") or {}, resource.get("inputs") or {})
        if isinstance(values.get("owner"), str)
    }


def _groups(resource: Mapping[str, Any]) -> set[str]:
    """Group of the machines that a batch makes. Its list of machines is secret in a state."""
    if not str(resource.get("type", "")).endswith(_BATCHES):
        return set()
    group = (resource.get("inputs") or {}).get("group")
    return {group} if isinstance(group, str) else set()


def _stack(owner: str) -> str:
    return "/".join(owner.split("/")[:3])


def standing(
    server: str, found: Mapping[str, Any], extra: Mapping[str, str], declared: Declared
) -> Standing:
    """What a machine is to the states.

    Args:
        server: The vCenter's own instance uuid.
        found: Its row of the report.
        extra: Its extra configuration: the marks.
        declared: What the states say.
    """
    owner, machine = extra[OWNER], (extra[OWNER], extra.get(GENERATION, ""))
    if is_copy(server, found["instanceUuid"], extra):
        return Standing.COPY
    if machine in declared.owners:
        return Standing.DECLARED
    of_batch = found["pending"] and owner.rpartition("/")[0] in declared.groups
    if machine in declared.pending or of_batch:
        return Standing.PENDING
    return Standing.ORPHAN if _stack(owner) in declared.stacks else Standing.ELSEWHERE


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
        for machine, about, extra in marked_machines(session, center):
            owner = extra[OWNER]
            found = {
                "name": str(about.get("name", "")),
                "path": inventory_path(session, machine),
                "moRef": str(machine._moId),
                "instanceUuid": str(about.get("config.instanceUuid", "")).lower(),
                "owner": owner,
                "stack": _stack(owner),
                "poweredOn": str(about.get("runtime.powerState")) == "poweredOn",
                "pending": bool(extra.get(PENDING)),
            }
            known = standing(session.server_id, found, extra, declared)
            rows.append({"standing": known.value, **found})
    order = [item.value for item in Standing]
    return sorted(rows, key=lambda item: (order.index(item["standing"]), item["path"]))
