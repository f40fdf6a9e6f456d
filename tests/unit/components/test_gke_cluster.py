"""GkeCluster: what is made for a project that has nothing, and in which order."""

import json
from typing import Any

import pulumi
import pytest

from gpufleet import GkeCluster, GpuFleet
from gpufleet.catalogue import load
from gpufleet.catalogue.instance import GCP
from gpufleet.catalogue.regions import known_regions
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.gke import gcp_objects as gcp
from gpufleet.platforms.gke.cluster import gke_kubeconfig_text
from gpufleet.platforms.gke.cluster_plan import (
    LONGEST_ACCOUNT,
    gke_cluster_plan,
)
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.spec.platforms.gke import DeclaredGkeCluster
from tests.unit.components.snapshots import assert_snapshot

ARGS: dict[str, Any] = {
    "project": "my-project",
    "cluster_name": "ml",
    "region": "us-central1",
    "zones": ["us-central1-a"],
    "tags": {"Cost-Center": "4711"},
}


def test_everything_a_gpu_pool_needs_is_made(run: Any) -> None:
    given = {**ARGS, "multi_networking": True, "gcs_fuse": True}
    made = run(lambda: GkeCluster("ml", given))
    assert_snapshot("gke-cluster", made)
    cluster = made.one(gcp.CLUSTER).inputs
    assert cluster["privateClusterConfig"] == {
        "enablePrivateNodes": True,
        "enablePrivateEndpoint": True,
    }
    assert cluster["workloadIdentityConfig"] == {"workloadPool": "my-project.svc.id.goog"}
    assert cluster["datapathProvider"] == "ADVANCED_DATAPATH"
    assert cluster["enableMultiNetworking"] is True
    assert cluster["resourceLabels"] == {"cost-center": "4711"}
    assert {one.inputs["service"] for one in made.all("gcp:projects/service:Service")} == {
        "compute.googleapis.com",
        "container.googleapis.com",
    }
    assert all(
        one.inputs["disableOnDestroy"] is False for one in made.all("gcp:projects/service:Service")
    )


def test_the_endpoint_is_open_to_named_addresses_only(run: Any) -> None:
    given = {**ARGS, "public_access_cidrs": ["203.0.113.7/32"]}
    cluster = run(lambda: GkeCluster("ml", given)).one(gcp.CLUSTER).inputs
    assert cluster["privateClusterConfig"]["enablePrivateEndpoint"] is False
    assert cluster["privateClusterConfig"]["enablePrivateNodes"] is True
    allowed = cluster["masterAuthorizedNetworksConfig"]["cidrBlocks"]
    assert allowed == [{"cidrBlock": "203.0.113.7/32"}]


def test_nodes_come_after_their_rights_and_their_way_out(run: Any) -> None:
    made = run(lambda: GkeCluster("ml", ARGS))
    system = made.one(NODE_POOL)
    assert {"ml-nat", "ml-defaultNodeServiceAccount", "ml-reader"} <= set(system.depends_on)
    assert system.inputs["nodeConfig"]["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    assert {"ml-compute-api", "ml-container-api"} <= set(made.one(gcp.CLUSTER).depends_on)
    nat = made.one(gcp.ROUTER_NAT).inputs
    assert nat["sourceSubnetworkIpRangesToNat"] == "ALL_SUBNETWORKS_ALL_IP_RANGES"


def test_a_fleet_takes_its_outputs_and_waits(run: Any) -> None:
    pool = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}

    def program() -> None:
        google = pulumi.ProviderResource("gcp", "google", {"project": "my-project"})
        cluster = GkeCluster("ml", ARGS, pulumi.ResourceOptions(providers={"gcp": google}))
        spec = {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [pool],
        }
        inside = pulumi.ProviderResource("kubernetes", "inside", {"kubeconfig": cluster.kubeconfig})
        GpuFleet(
            "gpus",
            {"spec": spec, "connection": cluster.connection},
            pulumi.ResourceOptions(providers={"gcp": google, "kubernetes": inside}),
        )

    made = run(program)
    (nodes,) = [one for one in made.all(NODE_POOL) if one.name != "ml-system"]
    assert nodes.inputs["cluster"] == "ml"
    assert nodes.inputs["location"] == "us-central1"
    assert nodes.inputs["nodeConfig"]["serviceAccount"] == "ml-nodes@my-project.example"
    assert {"ml-nat", "ml-defaultNodeServiceAccount"} <= set(nodes.depends_on)
    assert "ml-system" in made.one("pulumi:providers:kubernetes").depends_on


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"zones": ["us-east1-b"]}, "us-east1-b is not a zone of us-central1"),
        ({"region": "us-central1-a"}, "us-central1-a is a zone of us-central1"),
        ({"region": "europe-west12-c", "zones": []}, "write region europe-west12"),
        ({"zones": ["us-central1"]}, "us-central1 is not a zone"),
        ({"pods_cidr": "10.0.0.0/16"}, "have addresses in common"),
        ({"cidr": "8.8.8.0/24"}, "8.8.8.0/24 is not a private IPv4 range"),
        ({"public_access_cidrs": ["me"]}, "me is not an IPv4 address range"),
        ({"cluster_name": "ML"}, "clusterName"),
        ({"project": "My Project"}, "project"),
        ({"system_nodes": {"machine": "e2"}}, "machine"),
        ({"release_channel": "FAST"}, "releaseChannel: the provider refuses"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    run: Any, changed: dict[str, Any], text: str
) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as refused:
            GkeCluster("ml", {**ARGS, **changed})
        assert text in str(refused.value)

    assert run(program).resources == []


def test_a_zone_of_a_new_name_is_doubted_in_the_log_and_made(run: Any) -> None:
    made = run(lambda: GkeCluster("ml", {**ARGS, "zones": ["us-central1-b1"]}))
    (said,) = made.warnings
    assert "'us-central1-b1'" in said
    assert made.one(gcp.CLUSTER).inputs["nodeLocations"] == ["us-central1-b1"]


def test_no_region_of_google_is_taken_for_a_zone() -> None:
    """The regions that Google lists (catalogue/regions.py); a zone instead of a region gives one
    finding, for any zones."""
    given = {"project": "my-project", "clusterName": "ml"}
    for region in known_regions(GCP, load()):
        for name, codes in ((region, []), (f"{region}-a", ["cluster-zones"])):
            declared = {**given, "region": name, "zones": [f"{region}-a"]}
            _, found = gke_cluster_plan(DeclaredGkeCluster.model_validate(declared))
            assert [one.code for one in found] == codes, name


def test_ids_of_service_accounts_fit_and_differ() -> None:
    given = {"project": "my-project", "region": "us-central1"}
    found = [
        gke_cluster_plan(DeclaredGkeCluster.model_validate({**given, "clusterName": name}))[0]
        for name in ("a", "a" * 40, "a" * 39 + "b")
    ]
    ids = [plan.account_id for plan in found]
    assert len(set(ids)) == 3
    assert all(6 <= len(one) <= LONGEST_ACCOUNT for one in ids)


def test_the_kubeconfig_holds_no_secret() -> None:
    found = json.loads(gke_kubeconfig_text("ml", "203.0.113.9", "Q0E="))
    assert found["clusters"][0]["cluster"]["server"] == "https://203.0.113.9"
    assert list(found["users"][0]["user"]) == ["exec"]
