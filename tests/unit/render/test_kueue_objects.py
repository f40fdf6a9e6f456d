"""Kueue's configuration, and the objects that only some fleets need."""

from typing import Any

import pytest

from gpufleet.render.kueue_configuration import kueue_configuration, kueue_values
from gpufleet.render.kueue_queues import cluster_queues, kueue_objects, team_quota
from gpufleet.render.kueue_rules import validate_queues
from tests.unit.render.fleets import TEAMS, compiled, eks
from tests.unit.render.upstream_definitions import assert_accepted

FIXED = {"instanceTypes": ["p5.48xlarge"], "nodes": {"min": 2, "max": 2}}
CHAT = {"gpu": "L4", "nodes": {"min": 0, "max": 4}}


def queues(**more: Any) -> dict[str, Any]:
    return {"teams": TEAMS, **more}


def objects(fleet: Any, name: str) -> list[dict[str, Any]]:
    return kueue_objects(fleet)[name]


def test_the_configuration_says_what_the_queues_need() -> None:
    configuration = kueue_configuration(
        eks(
            queues=queues(
                podsReady={"timeoutMinutes": 90, "retries": 3, "oneAtATime": True},
                frameworks=["kubeflow.org/pytorchjob"],
            )
        )
    )
    ready = configuration["waitForPodsReady"]
    assert (ready["timeout"], ready["blockAdmission"]) == ("90m0s", True)
    assert ready["requeuingStrategy"]["backoffLimitCount"] == 3
    frameworks = configuration["integrations"]["frameworks"]
    assert frameworks == ["batch/job", "pod", "kubeflow.org/pytorchjob"]
    assert configuration["metrics"]["enableClusterQueueResources"] is True
    assert "fairSharing" not in configuration


def test_past_use_counts_in_gpus_only() -> None:
    fleet = eks(queues=queues(fairSharing={"usageHalfLifeHours": 168}))
    configuration = kueue_configuration(fleet)
    assert configuration["fairSharing"]["preemptionStrategies"][0] == "LessThanOrEqualToFinalShare"
    past = configuration["admissionFairSharing"]
    assert past["usageHalfLifeTime"] == "604800s"
    weights = past["resourceWeights"]
    assert (weights["cpu"], weights["memory"]) == (0.0, 0.0)
    assert weights["nvidia.com/gpu.shared"] == 0.25  # an L4 offered four times
    queue = cluster_queues(fleet)[0]["spec"]
    assert queue["fairSharing"] == {"weight": "500"}
    assert queue["admissionScope"] == {"admissionMode": "UsageBasedAdmissionFairSharing"}
    for one in cluster_queues(fleet):
        assert_accepted("kueue.x-k8s.io_clusterqueues.yaml", one)


def test_the_chart_is_watched_only_with_prometheus() -> None:
    assert kueue_values(eks(queues=queues()))["enablePrometheus"] is False
    assert kueue_values(eks(queues=queues(), monitoring={}))["enablePrometheus"] is True
    victoria = eks(queues=queues(), monitoring={"backend": "victoriaMetrics"})
    assert kueue_values(victoria)["enablePrometheus"] is False


def test_groups_and_limits() -> None:
    teams = [
        {"name": "a", "share": 0.5, "cohort": "labs", "borrowing": 0.5, "lending": 0.25},
        {"name": "b", "share": 0.5},
    ]
    fleet = compiled("eks", {"chat": CHAT}, queues={"teams": teams, "cohorts": [{"name": "labs"}]})
    (cohort,) = objects(fleet, "cohorts")
    assert cohort["spec"] == {"parentName": "gpufleet"}
    assert_accepted("kueue.x-k8s.io_cohorts.yaml", cohort)
    first, second = cluster_queues(fleet)
    assert (first["spec"]["cohortName"], second["spec"]["cohortName"]) == ("labs", "gpufleet")
    (entry,) = first["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert entry == {
        "name": "nvidia.com/gpu",
        "nominalQuota": "2",
        "borrowingLimit": "1",
        "lendingLimit": "0",
    }
    (entry,) = second["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert set(entry) == {"name", "nominalQuota"}


def test_a_group_has_the_weight_of_its_teams() -> None:
    """The default is 1, next to teams of some hundreds (kueue, cache/scheduler/cohort.go)."""
    teams = [
        {"name": "alpha", "share": 0.4},
        {"name": "beta", "share": 0.25, "weight": 2.5, "cohort": "lab"},
        {"name": "gamma", "share": 0.2, "cohort": "inner"},
    ]
    groups = [{"name": "lab"}, {"name": "inner", "parent": "lab"}]
    shared = {"teams": teams, "cohorts": groups, "fairSharing": {}}
    found = objects(compiled("eks", {"chat": CHAT}, queues=shared), "cohorts")
    weights = {one["metadata"]["name"]: one["spec"]["fairSharing"] for one in found}
    assert weights == {"lab": {"weight": "202500m"}, "inner": {"weight": "200"}}
    for one in found:
        assert_accepted("kueue.x-k8s.io_cohorts.yaml", one)


def test_a_pool_of_a_team_is_all_its_own() -> None:
    pools = {"chat": {**CHAT, "team": "product"}, "fixed": FIXED}
    fleet = compiled("eks", pools, queues=queues())
    assert team_quota(fleet) == {
        "research": {"nvidia.com/gpu": 8},
        "product": {"nvidia.com/gpu": 4 + 5},
        "students": {"nvidia.com/gpu": 3},
    }


def test_topologies_are_the_clouds_labels() -> None:
    fleet = compiled(
        "eks",
        {"fixed": FIXED, "chat": CHAT},
        queues=queues(topologies=[{"name": "fabric", "pools": ["fixed"]}]),
    )
    (topology,) = objects(fleet, "topologies")
    assert_accepted("kueue.x-k8s.io_topologies.yaml", topology)
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert levels[0] == "topology.k8s.aws/network-node-layer-1"
    assert levels[-1] == "kubernetes.io/hostname"
    flavors = {f["metadata"]["name"]: f["spec"] for f in objects(fleet, "resource-flavors")}
    assert flavors["fixed"]["topologyName"] == "fabric"
    assert "topologyName" not in flavors["chat"]


def test_jobs_wait_for_all_their_nodes_at_once() -> None:
    pool = {**FIXED, "nodes": {"min": 0, "max": 4}, "provisioner": "clusterAutoscaler"}
    fleet = compiled("eks", {"train": pool, "chat": CHAT}, queues=queues(atomicScaleUp=["train"]))
    check, config = objects(fleet, "admission-checks")
    assert_accepted("kueue.x-k8s.io_admissionchecks.yaml", check)
    assert_accepted("kueue.x-k8s.io_provisioningrequestconfigs.yaml", config)
    assert check["spec"]["parameters"]["name"] == config["metadata"]["name"] == "train-nodes"
    assert config["spec"]["provisioningClassName"].startswith("best-effort-atomic-scale-up")
    strategy = cluster_queues(fleet)[0]["spec"]["admissionChecksStrategy"]
    assert strategy == {"admissionChecks": [{"name": "train-nodes", "onFlavors": ["train"]}]}


def test_devices_cut_on_demand_count_by_memory() -> None:
    pool = {
        "gpu": "H100-80GB",
        "gpusPerNode": 8,
        "nodes": {"min": 0, "max": 2},
        "sharing": {"dra": {"devices": "mig", "namespaces": ["lab"]}},
    }
    fleet = compiled("eks", {"cut": pool}, queues=queues())
    (mapping,) = kueue_configuration(fleet)["resources"]["deviceClassMappings"]
    assert mapping["name"] == "gpufleet.dev/mig-claim-memory"
    assert "mig-1g.10gb.gpufleet.dev" in mapping["deviceClassNames"]
    counter = mapping["sources"][0]["counter"]
    assert (counter["name"], counter["driver"]) == ("memory", "gpu.nvidia.com")
    total = sum(amounts[mapping["name"]] for amounts in team_quota(fleet).values())
    assert total == pytest.approx(2 * 8 * 79 * 2**30, rel=0.03)
    assert validate_queues(fleet) == []


def test_one_class_is_counted_in_one_way() -> None:
    cut = {
        "gpu": "H100-80GB",
        "gpusPerNode": 8,
        "nodes": {"min": 0, "max": 2},
        "sharing": {"dra": {"devices": "mig"}},
    }
    whole = {**cut, "sharing": {"dra": {}}}
    fleet = compiled("eks", {"cut": cut, "whole": whole}, queues=queues())
    assert [f.code for f in validate_queues(fleet)] == ["kueue-claims-without-quota"] * 2
    assert objects(fleet, "cluster-queues") == []
