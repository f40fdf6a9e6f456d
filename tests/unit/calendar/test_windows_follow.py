"""Spend, quotas, limits and scheduled actions follow the windows; compiling looks at no clock."""

from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import NodeChangeKind
from gpufleet.environment import MOMENT, start_moment
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_objects import limits
from gpufleet.platforms.eks.scheduled_actions import scheduled_actions
from gpufleet.render.kueue_queues import team_quota
from tests.unit.calendar.calendars import BLOCK, at, block_fleet, block_pool, moment

QUEUES: dict[str, Any] = {
    "teams": [{"name": "research", "share": 0.5}, {"name": "vision", "share": 0.5}]
}
GPU = "nvidia.com/gpu"
MICRO = 1_000_000


@pytest.mark.parametrize(
    ("when", "nodes", "paid"),
    [
        (None, 4, 4),
        ("03T11:29", 0, 0),
        ("03T11:30", 4, 4),
        ("20T10:59", 4, 4),
        ("20T11:00", 0, 4),
    ],
)
def test_a_block_counts_inside_its_window(when: str | None, nodes: int, paid: int) -> None:
    fleet = at(block_fleet(queues=QUEUES), when)
    pool = fleet.pool("training")
    assert pool.available_nodes == nodes
    assert fleet.spend.maximum == paid * 30 * MICRO
    assert team_quota(fleet) == {
        "research": {GPU: nodes * 4},
        "vision": {GPU: nodes * 4},
    }
    assert limits(pool)["nodes"] == str(nodes)
    assert limits(pool)[GPU] == str(nodes * 8)


def test_a_block_that_has_ended_costs_nothing_and_is_an_error() -> None:
    result = compile_data(block_fleet(), at=moment("20T11:30"))
    assert [f.code for f in result.findings if f.severity.value == "error"] == [
        "capacity-block-ended"
    ]
    assert result.fleet is not None
    assert result.fleet.spend.maximum == 0


def test_a_reservation_that_has_ended_is_an_error() -> None:
    reserved = {"id": "cr-1", "zone": "us-east-2b", "until": "2026-12-20T11:30:00Z"}
    data = block_fleet(block_pool(capacity=[{"reserved": reserved}]))
    assert at(data, "20T11:29").deployable
    result = compile_data(data, at=moment("20T11:30"))
    found = [f for f in result.findings if f.code == "reservation-ended"]
    assert [f.path for f in found] == ["pools[0].capacity[0].reserved.until"]


@pytest.mark.parametrize(
    ("when", "research", "vision"),
    [
        (None, 16, 16),  # no moment: a promise for a time does not count
        ("05", 24, 8),
        ("12", 16, 16),
    ],
)
def test_quotas_follow_what_is_promised(when: str | None, research: int, vision: int) -> None:
    promises = [{"team": "research", "gpus": 16, "until": "2026-12-10T00:00:00Z"}]
    fleet = at(block_fleet(block_pool(commitments=promises), queues=QUEUES), when)
    assert team_quota(fleet) == {"research": {GPU: research}, "vision": {GPU: vision}}


def test_nodes_come_with_the_block_and_go_before_ec2_takes_them() -> None:
    pool = at(block_fleet(), "01").pool("training")
    assert scheduled_actions(pool) == {
        "gpufleet-training-start": {
            "startTime": "2026-12-03T11:30:00Z",
            "minSize": 0,
            "maxSize": 4,
            "desiredCapacity": 4,
        },
        "gpufleet-training-drain": {
            "startTime": "2026-12-20T10:30:00Z",
            "minSize": 0,
            "maxSize": -1,
            "desiredCapacity": 0,
        },
    }
    # EC2 Auto Scaling takes no action in the past.
    assert list(scheduled_actions(at(block_fleet(), "05").pool("training"))) == [
        "gpufleet-training-drain"
    ]
    assert scheduled_actions(at(block_fleet(), "20T10:30").pool("training")) == {}


def test_cluster_autoscaler_cannot_start_again_what_was_drained() -> None:
    data = block_fleet(block_pool(provisioner="clusterAutoscaler"))
    sizes = scheduled_actions(at(data, "01").pool("training"))
    assert sizes["gpufleet-training-start"]["desiredCapacity"] == -1
    assert sizes["gpufleet-training-drain"]["maxSize"] == 0


@pytest.mark.parametrize("machine", ["p6e-gb200.36xlarge", "trn2u.48xlarge"])
def test_an_ultraserver_goes_an_hour_before(machine: str) -> None:
    block = {key: value for key, value in BLOCK.items() if key != "starts"}
    pool = block_pool(instanceTypes=[machine], capacity=[{"capacityBlock": block}])
    made = compile_data(block_fleet(pool), at=moment("01")).fleet
    assert made is not None
    sizes = scheduled_actions(made.pool("training"))
    assert sizes["gpufleet-training-drain"]["startTime"] == "2026-12-20T10:00:00Z"


def test_an_extended_block_replaces_no_node() -> None:
    old, new = (
        at(block_fleet(block_pool({"until": f"2026-12-{day}T11:30:00Z"})), None) for day in (20, 27)
    )
    change = change_plan(old, new).pool("training")
    assert change.kind is NodeChangeKind.LIVE


def test_components_take_their_start_unless_a_moment_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(MOMENT, "2026-12-20T12:30:00+01:00")
    assert start_moment() == moment("20T11:30")
    monkeypatch.setenv(MOMENT, "2026-12-20T12:30:00")
    with pytest.raises(ValueError, match="write a time with its zone"):
        start_moment()
    monkeypatch.delenv(MOMENT)
    assert start_moment().tzinfo is not None
