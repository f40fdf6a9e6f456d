"""Relation of a marked machine to the given states."""

from dataclasses import replace
from typing import Any

import pytest

from gpufleet_vcenter import identity as marked
from gpufleet_vcenter.observed import seen
from gpufleet_vcenter.orphan_report import (
    Declared,
    StateStanding,
    declared_by,
    state_standing,
)

NODE = "gpufleet:vsphere:Machine"
BATCH = "gpufleet:vsphere:MachineBatch"
ID = {"type": "gpufleet:vsphere:MachineOwner", "id": "ab", "inputs": {"group": "org/lab/dev/pool"}}
GROUP = {
    "type": "gpufleet:vsphere:MachineGroup",
    "inputs": {"group": "org/lab/dev/pool", "life": "ab"},
    "outputs": {"ids": {"0": {"instanceUuid": "u"}}},
}
OWNER = "org/lab/dev/pool/0"
OTHER_STACK = "org/lab/prod/pool/0"


def state(*resources: dict[str, Any], cut_off: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "version": 3,
        "deployment": {
            "resources": [{"type": "pulumi:pulumi:Stack"}, *resources],
            "pending_operations": [{"resource": item, "type": "creating"} for item in cut_off],
        },
    }


def node(owner: str = OWNER, generation: str = "aa") -> dict[str, Any]:
    known = {"owner": owner, "generation": generation}
    return {"type": NODE, "id": "u", "inputs": known, "outputs": known}


def machine(
    owner: str = OWNER, uuid: str = "u", pending: bool = False, life: str = "", own: str = "u"
) -> dict[str, Any]:
    return {"instanceUuid": uuid, "owner": owner, "pending": pending, "life": life, "own": own}


def said(found: dict[str, Any], generation: str, declared: Declared) -> StateStanding:
    marks = {marked.OWNER: found["owner"], marked.GENERATION: generation, marked.UUID: found["own"]}
    marks |= {marked.LIFE: found["life"]} if found["life"] else {}
    marks |= {marked.PENDING: "true"} if found["pending"] else {}
    live = replace(seen(None, {}), instance_uuid=found["instanceUuid"], extra_config=marks)
    return state_standing("vcenter", live, declared)


@pytest.mark.parametrize(
    ("found", "generation", "states", "expected"),
    [
        (machine(), "aa", [state(node())], StateStanding.DECLARED),
        (machine(uuid="v", own="v"), "bb", [state(node())], StateStanding.ORPHAN),
        (machine(life="ab"), "aa", [state(ID, GROUP)], StateStanding.DECLARED),
        (machine(uuid="v", own="v", life="ab"), "aa", [state(ID, GROUP)], StateStanding.PENDING),
        (machine(uuid="v", own="v", life="ab"), "aa", [state(ID)], StateStanding.PENDING),
        (machine(uuid="v", life="ab"), "aa", [state(ID, GROUP)], StateStanding.COPY),
        (machine(uuid="v", own="v", life="cd"), "aa", [state(ID)], StateStanding.ORPHAN),
        (machine("org/lab/dev/pool/1", "v", own="v"), "aa", [state(node())], StateStanding.ORPHAN),
        (
            machine("org/lab/prod/pool/0", "v", own="v"),
            "aa",
            [state(node())],
            StateStanding.ELSEWHERE,
        ),
        (machine(uuid="another"), "aa", [state(node())], StateStanding.COPY),
        (machine(), "aa", [state(cut_off=(node(),))], StateStanding.ORPHAN),
        (
            machine(pending=True),
            "aa",
            [state(cut_off=({"type": BATCH, "inputs": {"group": "org/lab/dev/pool"}},))],
            StateStanding.PENDING,
        ),
        (
            machine(pending=True),
            "aa",
            [state({"type": BATCH, "inputs": {"group": "org/lab/dev/pool"}})],
            StateStanding.PENDING,
        ),
        (
            machine(),
            "aa",
            [state({"type": BATCH, "inputs": {"group": "org/lab/dev/pool"}})],
            StateStanding.ORPHAN,
        ),
        (machine(), "aa", [], StateStanding.ELSEWHERE),
        (machine(), "aa", [state(), state(node())], StateStanding.DECLARED),
    ],
)
def test_standing(
    found: dict[str, Any], generation: str, states: list[dict[str, Any]], expected: StateStanding
) -> None:
    assert said(found, generation, declared_by(states)) is expected


def test_a_destroyed_stack_is_known_by_its_name() -> None:
    known = declared_by([state()], ["org/lab/dev"])
    assert said(machine(), "aa", known) is StateStanding.ORPHAN
    none = frozenset[Any]()
    assert known == Declared(frozenset({"org/lab/dev"}), none, none, none)


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(ValueError, match="give the output of `pulumi stack export`"):
        declared_by([{"outputs": {}}])
