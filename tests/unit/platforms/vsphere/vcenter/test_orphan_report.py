"""What a marked machine is to the states that are given."""

from typing import Any

import pytest

from gpufleet.platforms.vsphere.vcenter import identity as marked
from gpufleet.platforms.vsphere.vcenter.orphan_report import (
    Declared,
    Standing,
    declared_by,
    standing,
)

NODE = "gpufleet:vsphere:Machine"
BATCH = "gpufleet:vsphere:MachineBatch"
OWNER = "org/lab/dev/pool/0"


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
    return {"type": NODE, "inputs": known, "outputs": known}


def machine(owner: str = OWNER, uuid: str = "u", pending: bool = False) -> dict[str, Any]:
    return {"instanceUuid": uuid, "owner": owner, "pending": pending}


def said(found: dict[str, Any], generation: str, declared: Declared) -> Standing:
    marks = {marked.OWNER: found["owner"], marked.GENERATION: generation, marked.UUID: "u"}
    return standing("vcenter", found, marks, declared)


@pytest.mark.parametrize(
    ("found", "generation", "states", "expected"),
    [
        (machine(), "aa", [state(node())], Standing.DECLARED),
        (machine(), "bb", [state(node())], Standing.ORPHAN),
        (machine("org/lab/dev/pool/1"), "aa", [state(node())], Standing.ORPHAN),
        (machine("org/lab/prod/pool/0"), "aa", [state(node())], Standing.ELSEWHERE),
        (machine(uuid="another"), "aa", [state(node())], Standing.COPY),
        (machine(), "aa", [state(cut_off=(node(),))], Standing.PENDING),
        (
            machine(pending=True),
            "aa",
            [state(cut_off=({"type": BATCH, "inputs": {"group": "org/lab/dev/pool"}},))],
            Standing.PENDING,
        ),
        (
            machine(pending=True),
            "aa",
            [state({"type": BATCH, "inputs": {"group": "org/lab/dev/pool"}})],
            Standing.PENDING,
        ),
        (
            machine(),
            "aa",
            [state({"type": BATCH, "inputs": {"group": "org/lab/dev/pool"}})],
            Standing.ORPHAN,
        ),
        (machine(), "aa", [], Standing.ELSEWHERE),
        (machine(), "aa", [state(), state(node())], Standing.DECLARED),
    ],
)
def test_standing(
    found: dict[str, Any], generation: str, states: list[dict[str, Any]], expected: Standing
) -> None:
    assert said(found, generation, declared_by(states)) is expected


def test_a_destroyed_stack_is_known_by_its_name() -> None:
    known = declared_by([state()], ["org/lab/dev"])
    assert said(machine(), "aa", known) is Standing.ORPHAN
    none = frozenset[Any]()
    assert known == Declared(frozenset({"org/lab/dev"}), none, none, none)


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(ValueError, match="give the output of `pulumi stack export`"):
        declared_by([{"outputs": {}}])
