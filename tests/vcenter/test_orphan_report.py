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


def machine(
    owner: str = OWNER, uuid: str = "u", life: str = "ab", own: str = "u"
) -> dict[str, Any]:
    return {"instanceUuid": uuid, "owner": owner, "life": life, "own": own}


def said(found: dict[str, Any], declared: Declared) -> StateStanding:
    marks = {marked.OWNER: found["owner"], marked.GENERATION: "aa", marked.UUID: found["own"]}
    marks |= {marked.LIFE: found["life"]} if found["life"] else {}
    live = replace(seen(None, {}), instance_uuid=found["instanceUuid"], extra_config=marks)
    return state_standing(live, declared)


@pytest.mark.parametrize(
    ("found", "states", "expected"),
    [
        (machine(), [state(ID, GROUP)], StateStanding.DECLARED),
        (machine(), [state(), state(GROUP)], StateStanding.DECLARED),
        (machine(uuid="v", own="v"), [state(ID, GROUP)], StateStanding.PENDING),
        (machine(uuid="v", own="v"), [state(ID)], StateStanding.PENDING),
        (machine(uuid="v", own="v"), [state(cut_off=(ID,))], StateStanding.PENDING),
        (machine(), [state(cut_off=(GROUP,))], StateStanding.PENDING),
        (machine(uuid="v"), [state(ID, GROUP)], StateStanding.COPY),
        (machine(uuid="v", own="v", life="cd"), [state(ID)], StateStanding.ORPHAN),
        (machine(uuid="v", own="v", life=""), [state(ID)], StateStanding.ORPHAN),
        (machine(OTHER_STACK, "v", "cd", "v"), [state(ID)], StateStanding.ELSEWHERE),
        (machine(), [], StateStanding.ELSEWHERE),
    ],
)
def test_standing(
    found: dict[str, Any], states: list[dict[str, Any]], expected: StateStanding
) -> None:
    assert said(found, declared_by(states)) is expected


def test_a_destroyed_stack_is_known_by_its_name() -> None:
    known = declared_by([state()], ["org/lab/dev"])
    assert said(machine(), known) is StateStanding.ORPHAN
    none = frozenset[Any]()
    assert known == Declared(frozenset({"org/lab/dev"}), none, none)


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(ValueError, match="give the output of `pulumi stack export`"):
        declared_by([{"outputs": {}}])
