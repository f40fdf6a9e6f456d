"""Target state of each node during waves, and changes that stay applicable."""

import json
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import Act
from gpufleet.cli.change import plan_text
from gpufleet.fleet import Fleet
from gpufleet.fleet.layout_waves import (
    group_labels,
    labels_of,
    nodes_before,
    partition_of,
    wave_of,
)
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.node_group_arguments import group_labels as eks_group_labels
from gpufleet.platforms.sandbox.simulated_node import WAIT_ANNOTATION, simulated_nodes
from gpufleet.render.gpu_operator_values import mig_parted_files, plugin_files
from tests.reading import yaml_data
from tests.unit.change.fleets import EIGHTHS, HALVES, compiled, fleet_data

MIG = "nvidia.com/mig.config"


def changing(**change: Any) -> Fleet:
    return compiled(fleet_data(HALVES, change={"previous": EIGHTHS, **change}))


@pytest.mark.parametrize(
    ("width", "waves"), [(1, [0, 1, 2, 3, 4]), (2, [0, 0, 1, 1, 2]), (9, [0, 0, 0, 0, 0])]
)
def test_nodes_go_in_waves_of_the_declared_width(width: int, waves: list[int]) -> None:
    pool = changing(width=width).pools[0]
    assert [wave_of(pool, i) for i in range(5)] == waves
    for i in range(5):
        assert list(nodes_before(pool, i)) == [j for j in range(5) if waves[j] == waves[i] - 1]


def test_without_a_change_nothing_waits() -> None:
    pool = compiled(fleet_data(HALVES)).pools[0]
    assert pool.previous is None
    assert list(nodes_before(pool, 4)) == []
    assert labels_of(pool, 4) == pool.labels


def test_only_the_waves_that_may_go_get_the_new_label() -> None:
    pool = changing(width=2, waves=1).pools[0]
    assert pool.previous is not None
    new, old = pool.labels[MIG], pool.previous.labels[MIG]
    assert new != old
    assert [labels_of(pool, i)[MIG] for i in range(5)] == [new, new, old, old, old]
    assert partition_of(pool, 4) is pool.previous.partition


def test_both_configurations_stay_applicable_until_the_end() -> None:
    fleet = changing()
    pool = fleet.pools[0]
    assert pool.previous is not None
    file = yaml_data(mig_parted_files(fleet).data["config.yaml"])
    assert {pool.labels[MIG], pool.previous.labels[MIG]} <= set(file["mig-configs"])
    shared = compiled(
        fleet_data(
            {"timeSlicing": {"replicas": 8}},
            gpu="L4",
            change={"previous": {"timeSlicing": {"replicas": 4}}},
        )
    )
    keys = plugin_files(shared).data
    assert len(keys) == 3
    assert {"default", shared.pools[0].labels["nvidia.com/device-plugin.config"]} <= set(keys)


def test_each_node_waits_for_what_it_is_promised() -> None:
    fleet = changing(waves=1, timeoutSeconds=60)
    nodes = simulated_nodes(fleet.pools[0], load(), prefix="sb", region="sandbox")
    wanted = [json.loads(n.metadata["annotations"][WAIT_ANNOTATION]) for n in nodes]
    assert wanted[0] == ["jsonpath={.status.allocatable['nvidia.com/mig-3g.40gb']}=16"]
    assert wanted[1] == ["jsonpath={.status.allocatable['nvidia.com/mig-1g.10gb']}=56"]
    assert nodes[0].metadata["annotations"]["pulumi.com/timeoutSeconds"] == "60"
    plain = compiled(fleet_data(HALVES))
    still = simulated_nodes(plain.pools[0], load(), prefix="sb", region="sandbox")
    assert WAIT_ANNOTATION not in still[0].metadata["annotations"]


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        (
            {"sharing": {"dra": {}}, "change": {"previous": {"dra": {"sharing": "timeSlicing"}}}},
            "change-not-in-place",
        ),
        ({"sharing": EIGHTHS, "change": {"previous": EIGHTHS}}, "change-without-difference"),
        (
            {
                "sharing": {"mig": {"layouts": [{"gpus": 4, "devices": {"1g.10gb": 7}}]}},
                "change": {
                    "previous": {
                        "mig": {
                            "layouts": [
                                {"gpus": 4, "devices": {}},
                                {"gpus": 4, "devices": {"1g.10gb": 7}},
                            ]
                        }
                    }
                },
            },
            "change-cannot-be-seen",
        ),
        (
            {
                "sharing": {"mig": {"strategy": "single", "layouts": HALVES["mig"]["layouts"]}},
                "change": {"previous": EIGHTHS},
            },
            "mig-strategy-conflict",
        ),
        (
            {
                "sharing": HALVES,
                "change": {"previous": {"mig": {"layouts": [{"devices": {"1g.10gb": 9}}]}}},
            },
            "mig-layout-impossible",
        ),
    ],
)
def test_a_change_that_cannot_go_in_waves_is_named(pool: dict[str, Any], code: str) -> None:
    data = fleet_data(HALVES)
    data["pools"][0] |= pool
    found = compile_data(data).findings
    assert code in {f.code for f in found}, [str(f) for f in found]


def test_a_clouds_group_keeps_its_labels_until_the_change_is_over() -> None:
    """EKS puts changed labels on every node of a group at once: the waves would be one."""
    declared = {"previous": EIGHTHS, "width": 2}
    old, over = (compiled(fleet_data(one, platform="eks")) for one in (EIGHTHS, HALVES))
    under_way = compiled(fleet_data(HALVES, platform="eks", change=declared))
    before, during, after = (dict(group_labels(f.pools[0])) for f in (old, under_way, over))
    assert during == before
    assert after[MIG] == under_way.pools[0].labels[MIG] != before[MIG]
    assert eks_group_labels(under_way.pools[0]) == before

    (pool,) = change_plan(old, under_way, {"cut": 5}).pools
    assert [len(wave) for wave in pool.waves] == [2, 2, 1]
    assert pool.labels == {MIG: after[MIG]}
    (labelling,) = [step for step in pool.steps if step.act is Act.LABEL]
    assert labelling.who == "you"
    text = plan_text(change_plan(old, under_way, {"cut": 5}), under_way)
    assert f"kubectl label node NODE --overwrite {MIG}={after[MIG]}" in text
