"""Live nodes during a change: the step of each, and the reason why one stopped."""

import pytest

from gpufleet.change.live_node import UPGRADE, LiveNode, Stage, explain_nodes, read_nodes
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


def stages(*nodes: LiveNode) -> list[Stage]:
    return [report.stage for report in explain_nodes(FLEET, nodes)]


def test_a_change_that_goes_well() -> None:
    assert stages(
        node(0), node(1, "pending", PAUSED, {"nvidia.com/mig-1g.10gb": 0}, cordoned=True), node(4)
    ) == [Stage.CHANGED, Stage.CHANGING, Stage.WAITING]


@pytest.mark.parametrize("state", ["failed", "success", ""])
def test_paused_operands_that_stay_paused_stop_a_node(state: str) -> None:
    assert stages(node(0, state, PAUSED, {"nvidia.com/mig-1g.10gb": 0})) == [Stage.STOPPED]


def test_a_layout_that_failed_stops_a_node() -> None:
    stopped = node(1, "failed", offers={"nvidia.com/mig-1g.10gb": 56})
    assert stages(stopped) == [Stage.STOPPED]


@pytest.mark.parametrize("offers", [{}, {"nvidia.com/mig-3g.40gb": 0}])
def test_a_node_that_offers_nothing_is_stopped(offers: dict[str, int]) -> None:
    assert stages(node(0, offers=offers)) == [Stage.STOPPED]


@pytest.mark.parametrize(
    ("labels", "stage"),
    [
        ({UPGRADE: "upgrade-failed"}, Stage.STOPPED),
        ({UPGRADE: "upgrade-required"}, Stage.STOPPED),
        ({UPGRADE: "drain-required"}, Stage.CHANGING),
        ({UPGRADE: "upgrade-done"}, Stage.CHANGED),
        ({"nvidia.com/gpu.deploy.operands": "false"}, Stage.STOPPED),
    ],
)
def test_the_state_of_the_driver_counts(labels: dict[str, str], stage: Stage) -> None:
    """An upgrade that is required and not automatic never starts."""
    assert stages(node(0, labels=labels)) == [stage]


def test_a_node_under_change_is_changing() -> None:
    assert stages(node(0, "rebooting", offers={})) == [Stage.CHANGING]


def test_a_node_that_lost_a_gpu_is_stopped() -> None:
    assert stages(node(0, offers={"nvidia.com/mig-3g.40gb": 14})) == [Stage.STOPPED]


def test_the_plugin_is_behind_its_label() -> None:
    assert stages(node(0, offers={"nvidia.com/mig-1g.10gb": 56})) == [Stage.CHANGING]


def test_nodes_of_other_pools_have_no_report() -> None:
    assert explain_nodes(FLEET, [LiveNode("cpu-0", {}, {}, False)]) == ()


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
        with pytest.raises(ValueError, match=r"required|accepted|without metadata\.name"):
            read_nodes(wrong)
