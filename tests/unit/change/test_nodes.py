"""Live nodes in the middle of a change: where each is, and why one that stopped has stopped."""

from typing import Any

import pytest

from gpufleet.change.live_node import LiveNode, read_nodes
from gpufleet.change.nodes import Stage, explain_nodes
from gpufleet.findings import Finding, Severity
from gpufleet.fleet.layout_waves import labels_of, partition_of
from tests.unit.change.fleets import EIGHTHS, HALVES, compiled, fleet_data

FLEET = compiled(fleet_data(HALVES, change={"previous": EIGHTHS, "waves": 2}))
POOL = FLEET.pools[0]
STATE = "nvidia.com/mig.config.state"
PLUGIN = "nvidia.com/gpu.deploy.device-plugin"
PAUSED = {PLUGIN: "paused-for-mig-change"}


def node(
    ordinal: int,
    state: str = "success",
    labels: dict[str, str] | None = None,
    offers: dict[str, int] | None = None,
    cordoned: bool = False,
) -> LiveNode:
    promised = partition_of(POOL, ordinal).advertised
    return LiveNode(
        f"sb-cut-{ordinal}",
        {**labels_of(POOL, ordinal), STATE: state, **(labels or {})},
        dict(promised) if offers is None else offers,
        cordoned,
    )


def explained(*nodes: LiveNode) -> tuple[list[Stage], dict[str, Finding]]:
    reports, findings = explain_nodes(FLEET, nodes)
    return [r.stage for r in reports], {f.code: f for f in findings}


def test_a_change_that_goes_well() -> None:
    stages, found = explained(
        node(0), node(1, "pending", PAUSED, {"nvidia.com/mig-1g.10gb": 0}, cordoned=True), node(4)
    )
    assert stages == [Stage.CHANGED, Stage.CHANGING, Stage.WAITING]
    assert set(found) == {"node-maybe-paused-for-good"}
    assert found["node-maybe-paused-for-good"].severity is Severity.WARNING


@pytest.mark.parametrize("state", ["failed", "success", ""])
def test_paused_operands_that_nobody_starts_again(state: str) -> None:
    stages, found = explained(node(0, state, PAUSED, {"nvidia.com/mig-1g.10gb": 0}))
    assert stages == [Stage.STOPPED]
    deadlock = found["node-paused-for-change"]
    assert deadlock.evidence["operands"] == ["device-plugin"]
    assert POOL.previous is not None
    old, new = (labels["nvidia.com/mig.config"] for labels in (POOL.previous.labels, POOL.labels))
    assert deadlock.fix == (
        f"kubectl label node sb-cut-0 --overwrite nvidia.com/mig.config={old}, wait for {STATE}="
        f"success, then update again: `pulumi up` writes {new}"
    )
    sources: Any = deadlock.evidence["facts"]
    assert any("mig-parted#485" in one["source"] for one in sources)


def test_a_failed_node_says_how_to_go_on() -> None:
    stages, found = explained(node(1, "failed", offers={"nvidia.com/mig-1g.10gb": 56}))
    assert stages == [Stage.STOPPED]
    assert set(found) == {"node-change-failed"}
    assert "does not try again under the same name" in found["node-change-failed"].message


@pytest.mark.parametrize("offers", [{}, {"nvidia.com/mig-3g.40gb": 0}])
def test_a_node_that_offers_nothing_is_a_black_hole(offers: dict[str, int]) -> None:
    stages, found = explained(node(0, offers=offers))
    assert stages == [Stage.STOPPED]
    assert "promised are 16 nvidia.com/mig-3g.40gb" in found["node-black-hole"].message


def test_a_node_under_change_must_not_take_pods() -> None:
    _, found = explained(node(0, "rebooting", offers={}))
    assert set(found) == {"node-attracts-pods"}
    _, found = explained(node(0, "rebooting", offers={}, cordoned=True))
    assert found == {}


def test_the_plugin_is_behind_its_label() -> None:
    stages, found = explained(node(0, offers={"nvidia.com/mig-1g.10gb": 56}))
    assert (stages, found) == ([Stage.CHANGING], {})


def test_nodes_of_other_pools_are_left_alone() -> None:
    stranger = LiveNode("cpu-0", {}, {}, False)
    assert explain_nodes(FLEET, [stranger]) == ((), ())


def test_what_kubectl_prints_is_read() -> None:
    item = {
        "kind": "Node",
        "metadata": {"name": "a", "labels": {"gpufleet.dev/pool": "cut"}},
        "spec": {"unschedulable": True},
        "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "0", "nvidia.com/x": "2"}},
    }
    wanted = LiveNode(
        "a", {"gpufleet.dev/pool": "cut"}, {"nvidia.com/gpu": 0, "nvidia.com/x": 2}, True
    )
    assert read_nodes({"kind": "List", "items": [item]}) == (wanted,)
    assert read_nodes(item) == (wanted,)
    for wrong in ({"kind": "List"}, {"kind": "Pod"}, {"kind": "List", "items": [1]}, {}):
        with pytest.raises(ValueError, match=r"wanted|without metadata\.name"):
            read_nodes(wrong)
