from typing import Any

import pytest

from gpufleet.documents.writing import yaml_stream
from gpufleet.fleet.kueue_quota import quota_pools
from gpufleet.render.kueue_queues import cluster_queues, local_queues, resource_flavor
from gpufleet.render.kueue_rules import validate_queues
from tests.unit.render.fleets import TEAMS, compiled, eks, gke
from tests.unit.render.golden_files import assert_golden
from tests.unit.render.upstream_definitions import assert_accepted

FLEET = eks(queues={"teams": TEAMS})
FLAVORS = [resource_flavor(pool, FLEET) for pool in quota_pools(FLEET)]
QUEUES = {queue["metadata"]["name"]: queue for queue in cluster_queues(FLEET)}


def groups(queue: dict[str, Any]) -> list[dict[str, Any]]:
    return queue["spec"]["resourceGroups"]


def quota(queue: dict[str, Any], pool: str) -> dict[str, int]:
    return {
        entry["name"]: int(entry["nominalQuota"])
        for group in groups(queue)
        for flavor in group["flavors"]
        if flavor["name"] == pool
        for entry in flavor["resources"]
    }


def test_golden_files() -> None:
    assert_golden("kueue-flavors.yaml", yaml_stream(FLAVORS))
    assert_golden("kueue-queues.yaml", yaml_stream([*QUEUES.values(), *local_queues(FLEET)]))


@pytest.mark.parametrize("index", range(len(FLAVORS)))
def test_kueues_definition_accepts_each_flavor(index: int) -> None:
    assert_accepted("kueue.x-k8s.io_resourceflavors.yaml", FLAVORS[index])


@pytest.mark.parametrize("name", list(QUEUES))
def test_kueues_definition_accepts_each_queue(name: str) -> None:
    assert_accepted("kueue.x-k8s.io_clusterqueues.yaml", QUEUES[name])


def test_kueues_definition_accepts_local_queues() -> None:
    for queue in local_queues(FLEET):
        assert_accepted("kueue.x-k8s.io_localqueues.yaml", queue)


def test_a_resource_and_a_flavor_are_in_one_group_only() -> None:
    for queue in QUEUES.values():
        resources = [name for group in groups(queue) for name in group["coveredResources"]]
        flavors = [flavor["name"] for group in groups(queue) for flavor in group["flavors"]]
        assert len(resources) == len(set(resources))
        assert sorted(flavors) == sorted(pool.name for pool in FLEET.pools)


def test_every_flavor_lists_the_covered_resources_in_their_order() -> None:
    for queue in QUEUES.values():
        for group in groups(queue):
            for flavor in group["flavors"]:
                assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]


def test_pools_that_share_a_resource_through_others_are_one_group() -> None:
    with_gpu = next(
        g for g in groups(QUEUES["research"]) if "nvidia.com/gpu" in g["coveredResources"]
    )
    assert with_gpu["coveredResources"] == [
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/mig-2g.20gb",
        "nvidia.com/mig-3g.40gb",
    ]
    named = [flavor["name"] for flavor in with_gpu["flavors"]]
    assert named == ["large", "eighth", "whole", "training", "visible"]


def test_quota_is_in_advertised_units_of_the_largest_size() -> None:
    shares = {name: quota(queue, "chat") for name, queue in QUEUES.items()}
    # 8 nodes x 1 GPU x 4 turns = 32
    assert shares == {
        "research": {"nvidia.com/gpu.shared": 16},
        "product": {"nvidia.com/gpu.shared": 10},
        "students": {"nvidia.com/gpu.shared": 6},
    }


def test_quota_is_in_whole_nodes_where_pods_take_them() -> None:
    pool: dict[str, Any] = {"instanceTypes": ["p5.48xlarge"], "nodes": {"min": 0, "max": 4}}
    alone = {**pool, "fabric": "efa", "zones": ["us-east-1a"], "intent": "training"}
    teams = [{"name": "research", "share": 0.6}, {"name": "product", "share": 0.4}]
    for declared, expected in ((pool, [19, 13]), (alone, [16, 16])):
        fleet = compiled("eks", {"p": declared}, queues={"teams": teams})
        found = {one["metadata"]["name"]: quota(one, "p") for one in cluster_queues(fleet)}
        assert [found[team]["nvidia.com/gpu"] for team in ("research", "product")] == expected


def test_a_pool_has_no_quota_for_what_it_does_not_have() -> None:
    assert quota(QUEUES["research"], "whole") == {
        "nvidia.com/gpu": 1,
        "nvidia.com/mig-1g.10gb": 0,
        "nvidia.com/mig-2g.20gb": 0,
        "nvidia.com/mig-3g.40gb": 0,
    }


def test_flavors_tolerate_the_gpu_taint_and_no_other() -> None:
    slices = next(f for f in FLAVORS if f["metadata"]["name"] == "slices")["spec"]
    assert slices["nodeLabels"] == {"gpufleet.dev/pool": "slices"}
    assert [taint["key"] for taint in slices["nodeTaints"]] == [
        "nvidia.com/gpu",
        "example.com/team",
    ]
    assert slices["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_each_team_queues_in_its_own_namespaces() -> None:
    places = [(q["metadata"]["namespace"], q["spec"]["clusterQueue"]) for q in local_queues(FLEET)]
    assert places == [
        ("lab", "research"),
        ("papers", "research"),
        ("product", "product"),
        ("students", "students"),
    ]
    (rule,) = QUEUES["research"]["spec"]["namespaceSelector"]["matchExpressions"]
    assert rule["values"] == ["lab", "papers"]


def test_gke_counts_slots() -> None:
    fleet = gke(queues={"teams": [{"name": "all", "share": 1}]})
    (queue,) = cluster_queues(fleet)
    assert quota(queue, "partitions") == {"nvidia.com/gpu": 3 * 42}


def test_without_queues_there_is_nothing() -> None:
    assert cluster_queues(eks()) == local_queues(eks()) == validate_queues(eks()) == []


def test_more_flavors_than_kueue_takes() -> None:
    pools = {f"p{i}": {"gpu": "L4", "nodes": {"min": 0, "max": 1}} for i in range(65)}
    fleet = compiled("eks", pools, queues={"teams": TEAMS})
    (finding,) = validate_queues(fleet)
    assert finding.code == "kueue-limit-exceeded"
    assert "65 flavors of the group with nvidia.com/gpu" in finding.message
    assert "at most 64" in finding.message
    assert finding.path == "queues"


def test_more_taints_than_a_flavor_takes() -> None:
    taints = [{"key": f"example.com/t{i}"} for i in range(8)]
    pools = {"one": {"gpu": "L4", "nodes": {"min": 0, "max": 1}, "taints": taints}}
    (finding,) = validate_queues(compiled("eks", pools, queues={"teams": TEAMS}))
    assert (finding.path, finding.evidence["found"]) == ("pools[0].taints", 9)
