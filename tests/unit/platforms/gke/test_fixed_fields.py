"""The change plan announces what makes a new node pool on GKE, and the provider agrees."""

from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import NodeChangeKind
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet_sandbox.cloud.difference import changes

BASE: dict[str, Any] = {"name": "p", "gpu": "L4", "nodes": {"min": 0, "max": 3}}
NODE_POOL = "gcp:container/nodePool:NodePool"


def fleet(pool: dict[str, Any]) -> Fleet:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [BASE | pool],
        }
    )
    assert result.fleet is not None
    assert result.deployable, result.findings
    return result.fleet


def replaces(old: Fleet, new: Fleet) -> bool:
    """Whether the provider would make a new node pool, by its own table."""
    before, after = (node_pools(one.pools[0], "ml", {}) for one in (old, new))
    if set(before) != set(after):
        return True
    return any(
        change.replaces and change.path != "initialNodeCount"
        for name in after
        for change in changes(NODE_POOL, before[name], after[name], {})
    )


A2 = {"gpu": None, "instanceTypes": ["a2-highgpu-1g"]}
H100 = {"gpu": None, "instanceTypes": ["a3-highgpu-8g"], "zones": ["us-central1-a"]}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ({}, {"sharing": {"timeSlicing": {"replicas": 4}}}, "sharing"),
        ({}, {"sharing": {"mps": {"replicas": 4}}}, "sharing"),
        (
            {"sharing": {"mps": {"replicas": 4}}},
            {"sharing": {"timeSlicing": {"replicas": 4}}},
            "sharing",
        ),
        ({}, {"capacity": [{"spot": {}}]}, "capacity"),
        ({}, {"capacity": [{"onDemand": {}}, {"spot": {}}]}, "capacity"),
        ({}, {"gke": {"openReservations": True}}, "gke.openReservations"),
        (
            {"capacity": [{"flexStart": {}}]},
            {"capacity": [{"flexStart": {"maxRunDuration": "1d"}}]},
            "capacity",
        ),
        ({}, {"gke": {"driverVersion": "latest"}}, "gke.driver"),
        ({}, {"gke": {"driver": "gpuOperator"}}, "gke.driver"),
        ({}, {"gke": {"localSsds": 1}}, "gke.localSsds"),
        ({}, {"gke": {"imageCache": "projects/p/global/images/i"}}, "gke.imageCache"),
        ({}, {"gke": {"maxPods": 32}}, "gke.maxPods"),
        ({}, {"gke": {"secureBoot": False}}, "gke.secureBoot"),
        (
            H100,
            {**H100, "fabric": "tcpx", "gke": {"acceleratorNetworkProfile": "auto"}},
            "gke.acceleratorNetworkProfile",
        ),
        (H100, {**H100, "gke": {"compactPlacement": True}}, "gke.compactPlacement"),
        (A2, {**A2, "instanceTypes": ["a2-ultragpu-1g"]}, "gpu"),
    ],
)
def test_a_new_pool_is_announced_with_the_setting(
    old: dict[str, Any], new: dict[str, Any], field: str
) -> None:
    before, after = fleet(old), fleet(new)
    plan = change_plan(before, after)
    change = plan.pool("p")
    assert change.kind is NodeChangeKind.NEW_POOL
    assert any(one.field.startswith(field) for one in change.differences)
    assert "change-by-replacement" in [one.code for one in plan.findings]
    assert replaces(before, after)


def test_a_node_pool_that_was_taken_over_is_never_made_anew() -> None:
    imported = {"importId": "us-central1/ml/old"}
    changed = {**imported, "sharing": {"mps": {"replicas": 4}}, "gke": {"maxPods": 32}}
    plan = change_plan(fleet(imported), fleet(changed))
    assert plan.pool("p").kind is NodeChangeKind.LIVE  # what is written differs
    assert "change-by-replacement" not in [one.code for one in plan.findings]
    other = {**changed, "importId": "us-central1/ml/other"}
    assert change_plan(fleet(imported), fleet(other)).pool("p").kind is NodeChangeKind.NEW_POOL


@pytest.mark.parametrize(
    "new",
    [
        {"nodes": {"min": 1, "max": 9}},
        {"labels": {"example.com/tier": "web"}},
        {"taints": [{"key": "example.com/team"}]},
        {"disk": {"sizeGib": 400}},
        {"gke": {"diskType": "pd-ssd"}},
        {"gke": {"upgrade": {"strategy": "blueGreen"}}},
        {"gke": {"autoUpgrade": False}},
        {"gke": {"locationPolicy": "balanced"}},
    ],
)
def test_what_changes_in_place_is_no_new_pool(new: dict[str, Any]) -> None:
    before, after = fleet({}), fleet(new)
    assert change_plan(before, after).pool("p").kind is not NodeChangeKind.NEW_POOL
    assert not replaces(before, after)
