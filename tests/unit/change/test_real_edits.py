"""Edits as people make them: none is silent, and at most one is warned of without cause."""

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import ChangePlan, NodeChangeKind, PoolChange
from gpufleet.platforms.compiled import compile_data
from tests.unit.change.real_edits import GROUPS, Effect, both

STAYING = {NodeChangeKind.UNTOUCHED, NodeChangeKind.LIVE}


def planned(group: str) -> ChangePlan:
    old, new = (compile_data(data) for data in both(group))
    assert old.fleet is not None, old.findings
    assert new.fleet is not None, new.findings
    return change_plan(old.fleet, new.fleet)


def said(change: PoolChange, plan: ChangePlan) -> Effect:
    """The plan's result for a pool."""
    findings = [one for one in plan.findings if one.path.startswith(change.path)]
    if any(one.severity.value == "error" for one in findings):
        return Effect.REFUSED
    warned = any(one.severity.value == "warning" for one in findings)
    if warned or change.kind not in STAYING:
        return Effect.NODES
    return Effect.IN_PLACE if change.kind is NodeChangeKind.LIVE else Effect.NOTHING


def test_thirty_edits_do_what_the_providers_do() -> None:
    wrong: dict[str, tuple[Effect, Effect]] = {}
    for group, (_, edits, _) in GROUPS.items():
        plan = planned(group)
        for change in plan.pools:
            expected, found = edits[change.name][2], said(change, plan)
            if found is not expected:
                wrong[change.name] = expected, found
    assert sum(len(edits) for _, edits, _ in GROUPS.values()) == 30
    harmless = {Effect.NOTHING, Effect.IN_PLACE}
    silent = {n for n, (expected, found) in wrong.items() if found in harmless - {expected}}
    assert not {n for n in silent if wrong[n][0] not in harmless}, wrong
    assert wrong == {}


def test_what_vsphere_refuses_names_the_word() -> None:
    fixes = {
        one.path: one.fix or ""
        for one in planned("vsphere").findings
        if one.code == "change-refused"
    }
    assert len(fixes) == 2
    assert any("`vsphere.updatePolicy: replace`" in fix for fix in fixes.values())
    assert any("restart" in fix for fix in fixes.values())
