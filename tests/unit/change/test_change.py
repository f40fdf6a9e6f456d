"""The plan from one fleet to another: kinds, waves, capacity, cost, findings."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import Act, ChangePlan, NodeChangeKind
from gpufleet.change.steps import walk, waves_of
from gpufleet.findings import Severity
from gpufleet.fleet.leaf_class import LeafClass
from tests.unit.change.fleets import EIGHTHS, HALVES, WHOLE, compiled, fleet_data

SLICED4 = {"timeSlicing": {"replicas": 4}}
SLICED8 = {"timeSlicing": {"replicas": 8}}
REBOOTS = {"gpuOperator": {"migManager": {"env": {"WITH_REBOOT": "true"}}}}


def planned(
    old: dict[str, Any], new: dict[str, Any], nodes: Mapping[str, int] | None = None, **pool: Any
) -> ChangePlan:
    return change_plan(compiled(fleet_data(old)), compiled(fleet_data(new, **pool)), nodes)


def codes(plan: ChangePlan, severity: Severity) -> set[str]:
    return {f.code for f in plan.findings if f.severity is severity}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (EIGHTHS, EIGHTHS, NodeChangeKind.UNTOUCHED),
        (EIGHTHS, HALVES, NodeChangeKind.RECUT),
        (WHOLE, EIGHTHS, NodeChangeKind.RECUT),
        (WHOLE, {"timeSlicing": {"replicas": 4}}, NodeChangeKind.RECUT),
        (SLICED4, SLICED8, NodeChangeKind.PLUGIN),
        (SLICED8, SLICED4, NodeChangeKind.RECUT),
        (SLICED4, {"mps": {"replicas": 4}}, NodeChangeKind.RECUT),
        (WHOLE, {"timeSlicing": {"replicas": 4, "rename": False}}, NodeChangeKind.PLUGIN),
    ],
    ids=lambda one: one.value if isinstance(one, NodeChangeKind) else next(iter(one)),
)
def test_what_happens_to_the_nodes(old: Any, new: Any, kind: NodeChangeKind) -> None:
    assert planned(old, new).pool("cut").kind is kind


def test_a_layout_in_waves_keeps_the_floor() -> None:
    plan = planned(EIGHTHS, HALVES, change={"previous": EIGHTHS, "width": 2})
    pool = plan.pool("cut")
    assert pool.waves == ((0, 1), (2, 3), (4,))
    assert (pool.gpus.before, pool.gpus.lowest, pool.gpus.after) == (40, 24, 40)
    by_name = {one.name: (one.before, one.lowest, one.after) for one in pool.resources}
    assert by_name == {
        "nvidia.com/mig-1g.10gb": (5 * 56, 0, 0),
        "nvidia.com/mig-3g.40gb": (0, 0, 5 * 16),
    }
    # 5 nodes x 8 GPUs x (300 s drain + 120 s change); at most 300 s + the default 1200 s
    assert pool.gpu_hours == Decimal("4.67")
    assert pool.gpu_hours_at_most == Decimal("16.67")
    acts = [step.act for step in pool.steps]
    assert acts == [Act.CORDON, Act.DRAIN, Act.LABEL, Act.WAIT, Act.WAIT, Act.UNCORDON]
    assert len(plan.stops) == 5
    assert plan.safe
    assert "changed-node-attracts-pods" in codes(plan, Severity.INFO)


def test_without_waves_everything_goes_at_once_and_the_fix_can_be_pasted() -> None:
    plan = planned(EIGHTHS, HALVES)
    assert plan.pool("cut").gpus.lowest == 0
    (found,) = [f for f in plan.findings if f.code == "change-all-at-once"]
    assert found.fix == (
        "add to the pool: change: {width: 1, previous: {mig: {layouts: [{devices: {1g.10gb: 7}}]}}}"
    )


def test_ampere_resets_and_hopper_does_not() -> None:
    ampere = planned(WHOLE, EIGHTHS, change={"previous": WHOLE}).pool("cut")
    assert Act.RESET in {step.act for step in ampere.steps}
    old = compiled(fleet_data(WHOLE, gpu="H100-80GB"))
    new = compiled(fleet_data(EIGHTHS, gpu="H100-80GB", change={"previous": WHOLE}))
    acts = {step.act for step in change_plan(old, new).pool("cut").steps}
    assert Act.RESET not in acts


def test_a_cloud_that_forbids_resets_needs_with_reboot() -> None:
    def eks(sharing: Any, **more: Any) -> Any:
        addons = more.pop("addons", {})
        data = fleet_data(sharing, platform="eks", **more)
        return compiled(data | {"addons": addons})

    change = {"previous": WHOLE}
    never = {"gpuOperator": {"migManager": {"env": {"WITH_REBOOT": "false"}}}}
    plan = change_plan(eks(WHOLE), eks(EIGHTHS, change=change, addons=never))
    assert "change-may-hang" in codes(plan, Severity.ERROR)
    plan = change_plan(eks(WHOLE), eks(EIGHTHS, change=change))
    assert plan.safe
    assert change_plan(eks(WHOLE), eks(EIGHTHS, change=change, addons=REBOOTS)).safe
    acts = [step.act for step in plan.pool("cut").steps]
    assert acts.index(Act.RESET) == acts.index(Act.REBOOT) - 1
    assert plan.pool("cut").gpu_hours == Decimal(5 * 8 * 900) / 3600


def test_previous_must_be_what_the_nodes_are() -> None:
    plan = planned(EIGHTHS, HALVES, change={"previous": WHOLE})
    assert codes(plan, Severity.ERROR) == {"change-previous-is-another"}


def test_mig_cannot_be_taken_off_without_the_manager() -> None:
    assert codes(planned(EIGHTHS, WHOLE), Severity.ERROR) == {"mig-manager-leaves-too-early"}
    assert planned(EIGHTHS, WHOLE, change={"previous": EIGHTHS}).safe


def test_the_strategy_is_everybodys() -> None:
    single = {"mig": {"strategy": "single", "layouts": [{"devices": {"1g.10gb": 7}}]}}
    assert "change-strategy-for-everyone" in codes(planned(EIGHTHS, single), Severity.ERROR)


def test_another_machine_means_other_nodes() -> None:
    old = compiled(fleet_data(EIGHTHS))
    new = compiled(fleet_data(EIGHTHS, gpu="H100-80GB"))
    plan = change_plan(old, new)
    assert plan.pool("cut").kind is NodeChangeKind.NEW_NODES
    assert "change-by-replacement" in codes(plan, Severity.WARNING)
    assert [d.field for d in plan.pool("cut").differences] == ["gpu", "machines"]


@pytest.mark.parametrize(
    ("provisioner", "kind"),
    [("karpenter", NodeChangeKind.UNTOUCHED), ("managed", NodeChangeKind.NEW_NODES)],
)
def test_another_order_of_machines_counts_where_an_input_has_it(
    provisioner: str, kind: NodeChangeKind
) -> None:
    """Karpenter's `requirements` are a set, which is sorted, and which it does not hash
    (kubernetes-sigs/karpenter pkg/apis/v1/nodeclaim.go); `instanceTypes` of a node group is a list
    whose order is that of preference."""

    def eks(*types: str) -> Any:
        pool = {"name": "cut", "instanceTypes": types, "nodes": {"min": 0, "max": 4}}
        pool |= {"intent": "batch", "provisioner": provisioner}
        cluster = {"name": "sb", "region": "us-east-1"}
        data = {"catalogue": "2026.11", "platform": "eks", "cluster": cluster, "pools": [pool]}
        return compiled(data)

    plan = change_plan(eks("g6.xlarge", "g6.2xlarge"), eks("g6.2xlarge", "g6.xlarge"))
    pool = plan.pool("cut")
    assert pool.kind is kind
    assert (pool.inputs == ()) is (kind is NodeChangeKind.UNTOUCHED)
    if kind is NodeChangeKind.UNTOUCHED:
        assert {one.leaf_class for one in pool.differences} == {LeafClass.NONE}
        assert plan.findings == ()
        assert pool.seconds == 0


def test_gke_replaces_the_pool() -> None:
    def gke(replicas: int) -> Any:
        data = fleet_data({"timeSlicing": {"replicas": replicas}}, gpu="L4")
        data |= {"platform": "gke", "cluster": {"name": "sb", "region": "us-central1"}}
        return compiled(data)

    assert change_plan(gke(2), gke(4)).pool("cut").kind is NodeChangeKind.NEW_POOL


def test_pools_that_come_and_go() -> None:
    old, new = fleet_data(EIGHTHS), fleet_data(EIGHTHS)
    new["pools"][0]["name"] = "other"
    plan = change_plan(compiled(old), compiled(new))
    assert (plan.pool("cut").kind, plan.pool("other").kind) == (
        NodeChangeKind.REMOVED,
        NodeChangeKind.ADDED,
    )
    assert plan.pool("cut").gpus.after == 0
    with pytest.raises(KeyError):
        plan.pool("none")


def test_the_number_of_nodes_can_be_told() -> None:
    assert planned(EIGHTHS, HALVES, {"cut": 2}).pool("cut").nodes == 2
    with pytest.raises(ValueError, match="no pool 'none'; it has cut"):
        planned(EIGHTHS, HALVES, {"none": 2})
    with pytest.raises(ValueError, match="cannot have -1 nodes"):
        planned(EIGHTHS, HALVES, {"cut": -1})


@given(
    nodes=st.integers(0, 12),
    width=st.integers(1, 13),
    old=st.dictionaries(st.sampled_from("abc"), st.integers(1, 9)),
    new=st.dictionaries(st.sampled_from("abc"), st.integers(1, 9)),
)
def test_the_floor_is_that_of_a_walk_node_by_node(
    nodes: int, width: int, old: dict[str, int], new: dict[str, int]
) -> None:
    state = [dict(old) for _ in range(nodes)]
    seen: list[dict[str, int]] = []

    def look() -> None:
        seen.append({n: sum(one.get(n, 0) for one in state) for n in {*old, *new}})

    look()
    for wave in waves_of(nodes, width):
        for i in wave:
            state[i] = {}
        look()
        for i in wave:
            state[i] = dict(new)
        look()
    for one in walk(old, new, waves_of(nodes, width), NodeChangeKind.RECUT):
        assert one.lowest == min(s[one.name] for s in seen)
        assert (one.before, one.after) == (seen[0][one.name], seen[-1][one.name])
