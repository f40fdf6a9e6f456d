from typing import Any

import pytest

from gpufleet import GkeGpuNodePool
from gpufleet.catalogue.provider_inputs import violations
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.gke.imported import MANAGED, MANAGED_OF_NODES
from gpufleet_sandbox.cloud.checking import problems
from gpufleet_sandbox.cloud.cloud import sdk
from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet_sandbox.cloud.gcp.message import node_pool_message
from gpufleet_sandbox.cloud.replacement import replaces
from gpufleet_sandbox.cloud.shapes import ObjectShape
from tests.unit.components.gke_pools import POOLS, arguments
from tests.unit.components.snapshots import assert_snapshot, whole

NODE_POOL = "gcp:container/nodePool:NodePool"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
CLASS = "kubernetes:cloud.google.com/v1:ComputeClass"


def made(run: Any, case: str, pool: dict[str, Any] | None = None, **connection: Any) -> Any:
    return run(lambda: GkeGpuNodePool("pool", arguments(case, pool, **connection)))


def one(run: Any, case: str, pool: dict[str, Any] | None = None) -> dict[str, Any]:
    return whole(made(run, case, pool).one(NODE_POOL).inputs)


def refused(run: Any, case: str, pool: dict[str, Any] | None = None, **connection: Any) -> str:
    texts: list[str] = []

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GkeGpuNodePool("pool", arguments(case, pool, **connection))
        texts.append(str(caught.value))

    assert run(program).resources == []
    return texts[0]


@pytest.mark.parametrize("case", POOLS)
def test_the_exact_inputs(run: Any, case: str) -> None:
    assert_snapshot(f"gke-{case}", made(run, case))


@pytest.mark.parametrize("case", POOLS)
def test_sdk_provider_and_api_accept_every_pool(run: Any, case: str) -> None:
    record = sdk("gcp").resource(NODE_POOL).record
    for pool in made(run, case).all(NODE_POOL):
        inputs = whole(pool.inputs)
        assert problems(record, inputs) == []
        assert violations(NODE_POOL, inputs) == []
        admit_node_pool(node_pool_message(inputs))


def test_gke_installs_and_advertises_by_default(run: Any) -> None:
    pool = one(run, "on-demand")
    config = pool["nodeConfig"]
    assert config["machineType"] == "g2-standard-4"
    assert config["guestAccelerators"] == [
        {
            "type": "nvidia-l4",
            "count": 1,
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
        }
    ]
    assert config["imageType"] == "COS_CONTAINERD"
    assert config["shieldedInstanceConfig"] == {
        "enableIntegrityMonitoring": True,
        "enableSecureBoot": True,
    }
    assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    assert config["metadata"] == {"disable-legacy-endpoints": "true"}
    assert config["gvnic"] == {"enabled": True}
    assert config["resourceLabels"] == {"cost-center": "4711"}
    assert config["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"} in config[
        "taints"
    ]
    assert pool["autoscaling"] == {
        "totalMinNodeCount": 1,
        "totalMaxNodeCount": 8,
        "locationPolicy": "ANY",
    }
    assert pool["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert pool["management"] == {"autoRepair": True, "autoUpgrade": True}
    assert pool["nodeLocations"] == ["us-central1-a", "us-central1-b"]
    assert "nodeCount" not in pool


def test_sharing_agrees_with_what_is_advertised(run: Any) -> None:
    (shared,) = one(run, "time-sharing")["nodeConfig"]["guestAccelerators"]
    assert shared["gpuSharingConfig"] == {
        "gpuSharingStrategy": "TIME_SHARING",
        "maxSharedClientsPerGpu": 4,
    }
    (cut,) = one(run, "partitions")["nodeConfig"]["guestAccelerators"]
    assert (cut["gpuPartitionSize"], cut["count"]) == ("1g.10gb", 4)


def test_the_operator_brings_what_gke_leaves_out(run: Any) -> None:
    config = one(run, "operator")["nodeConfig"]
    (whole,) = config["guestAccelerators"]
    assert whole["gpuDriverInstallationConfig"] == {"gpuDriverVersion": "INSTALLATION_DISABLED"}
    assert "gpuPartitionSize" not in whole
    assert config["labels"]["gke-no-default-nvidia-gpu-device-plugin"] == "true"
    assert config["shieldedInstanceConfig"]["enableSecureBoot"] is False
    assert one(run, "operator-driver")["nodeConfig"]["imageType"] == "UBUNTU_CONTAINERD"


def test_attached_gpus_name_their_host(run: Any) -> None:
    pool = one(run, "attached")
    config = pool["nodeConfig"]
    assert config["machineType"] == "n1-standard-16"
    assert [(a["type"], a["count"]) for a in config["guestAccelerators"]] == [
        ("nvidia-tesla-t4", 2)
    ]
    assert config["localNvmeSsdBlockConfig"] == {"localSsdCount": 1}
    assert pool["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}


def test_a_reservation_is_named_with_its_block(run: Any) -> None:
    pool = one(run, "reservation")
    assert pool["nodeConfig"]["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["gpus/reservationBlocks/block-1"],
    }
    assert pool["nodeLocations"] == ["us-central1-a"]
    assert pool["initialNodeCount"] == 2
    assert pool["placementPolicy"] == {"type": "COMPACT"}
    assert pool["networkConfig"]["acceleratorNetworkProfile"] == "auto"
    assert "additionalNodeNetworkConfigs" not in pool["networkConfig"]
    labels = pool["nodeConfig"]["labels"]
    assert labels["cloud.google.com/gke-networking-dra-driver"] == "true"
    assert pool["nodeConfig"]["diskType"] == "hyperdisk-balanced"
    assert pool["nodeConfig"]["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": 32}


def test_flex_start_ends_by_itself_and_is_not_repaired(run: Any) -> None:
    pool = one(run, "flex-start")
    assert pool["nodeConfig"]["flexStart"] is True
    assert pool["nodeConfig"]["maxRunDuration"] == "43200s"
    assert pool["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert "upgradeSettings" not in pool  # the provider takes no SHORT_LIVED, the API chooses it


def test_queued_nodes_come_all_at_once(run: Any) -> None:
    pool = one(run, "queued")
    assert pool["queuedProvisioning"] == {"enabled": True}
    assert pool["nodeConfig"]["labels"]["cloud.google.com/gke-queued"] == "true"
    assert pool["nodeConfig"]["maxRunDuration"] == "604800s"
    assert pool["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert "upgradeSettings" not in pool
    assert "gke-queued" not in {one["key"] for one in pool["nodeConfig"]["taints"]}  # GKE adds it
    assert len(pool["networkConfig"]["additionalNodeNetworkConfigs"]) == 8


def test_gpudirect_gets_its_networks_in_order(run: Any) -> None:
    pool = one(run, "tcpx")
    assert pool["networkConfig"]["additionalNodeNetworkConfigs"] == [
        {"network": f"gpu-{index}", "subnetwork": f"gpu-{index}-sub"} for index in range(1, 5)
    ]
    config = pool["nodeConfig"]
    assert config["secondaryBootDisks"] == [
        {"diskImage": "projects/p/global/images/cuda", "mode": "CONTAINER_IMAGE_CACHE"}
    ]
    assert config["gcfsConfig"] == {"enabled": True}
    assert pool["maxPodsPerNode"] == 32


def test_several_ways_of_buying_are_node_pools_under_one_class(run: Any) -> None:
    recording = made(run, "ladder")
    pools = {pool.name: whole(pool.inputs) for pool in recording.all(NODE_POOL)}
    assert list(pools) == ["pool-flex", "pool-on-demand", "pool-reserved", "pool-spot"]
    for pool in pools.values():
        assert pool["nodeConfig"]["labels"]["cloud.google.com/compute-class"] == "ladder"
        member = {
            "key": "cloud.google.com/compute-class",
            "value": "ladder",
            "effect": "NO_SCHEDULE",
        }
        assert member in pool["nodeConfig"]["taints"]
    assert pools["pool-spot"]["nodeConfig"]["spot"] is True
    compute_class = recording.one(CLASS)
    assert compute_class.inputs["spec"]["priorities"] == [
        {"nodepools": ["ml-ladder-reserved"]},
        {"nodepools": ["ml-ladder-on-demand"]},
        {"nodepools": ["ml-ladder-flex"]},
        {"nodepools": ["ml-ladder-spot"]},
    ]
    assert compute_class.inputs["spec"]["activeMigration"] == {"optimizeRulePriority": True}
    assert set(compute_class.depends_on) == set(pools)


def test_hosts_of_ironwood_wait_for_their_workload_policy(run: Any) -> None:
    recording = made(run, "ironwood")
    policy = recording.one(POLICY)
    assert policy.inputs["workloadPolicy"] == {
        "type": "HIGH_THROUGHPUT",
        "acceleratorTopology": "4x4x4",
    }
    assert (policy.inputs["region"], policy.inputs["project"]) == ("us-central1", "stand-in")
    assert problems(sdk("gcp").resource(POLICY).record, whole(policy.inputs)) == []
    assert whole(recording.one(NODE_POOL).inputs)["placementPolicy"] == {
        "type": "COMPACT",
        "policyName": "ml-ironwood",
    }
    assert made(run, "ironwood", IMPORTED).all(POLICY) == []


def test_a_slice_is_placed_as_one(run: Any) -> None:
    pool = one(run, "slice")
    # Flex start of TPUs takes limits of a zone, and not total ones (cluster-toolkit 1047080).
    assert pool["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}
    assert pool["nodeLocations"] == ["us-central1-a"]
    assert pool["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert pool["management"]["autoRepair"] is False
    assert pool["nodeLocations"] == ["us-central1-a"]


def test_networks_that_are_missing_are_named(run: Any) -> None:
    text = refused(run, "tcpx", gpu_networks={"vpc1": {"network": "a", "subnetwork": "b"}})
    assert "vpc2, vpc3, vpc4 are missing" in text
    assert "connection.gpuNetworks" in text


def test_raw_arguments_are_merged_last(run: Any) -> None:
    raw = {"node_pool": {"nodeConfig": {"loggingVariant": "MAX_THROUGHPUT"}}}
    config = one(run, "on-demand", {"gke": raw})["nodeConfig"]
    assert (config["loggingVariant"], config["machineType"]) == ("MAX_THROUGHPUT", "g2-standard-4")
    assert "pool.gke.nodePool.cluster" in refused(
        run, "on-demand", {"gke": {"node_pool": {"cluster": "other"}}}
    )


IMPORTED = {"import_id": "stand-in/us-central1/ml/old-pool"}


def test_an_adopted_pool_keeps_its_name_and_everything_else(run: Any) -> None:
    adopted = made(run, "on-demand", IMPORTED).one(NODE_POOL)
    assert adopted.inputs["name"] == "old-pool"
    known = set(sdk("gcp").resource(NODE_POOL).record.properties)
    assert set(adopted.ignored) == known


def test_a_managed_import_takes_over_what_makes_no_other_machines(run: Any) -> None:
    managed = made(run, "on-demand", {**IMPORTED, "gke": {"imported": "manage"}}).one(NODE_POOL)
    record = sdk("gcp").resource(NODE_POOL).record
    of_nodes = record.properties["nodeConfig"].shape
    assert isinstance(of_nodes, ObjectShape)
    kept = set(managed.ignored)
    assert set(record.properties) - kept == {*MANAGED, "nodeConfig"}
    nodes = {f"nodeConfig.{name}" for name in of_nodes.properties}
    assert nodes - kept == {f"nodeConfig.{name}" for name in MANAGED_OF_NODES}
    assert kept <= nodes | set(record.properties)
    assert not any(replaces(NODE_POOL, name) for name in MANAGED)
    assert not any(replaces(NODE_POOL, f"nodeConfig.{name}") for name in MANAGED_OF_NODES)


def test_labels_that_the_fleet_has_none_of_stay(run: Any) -> None:
    managed = {**IMPORTED, "gke": {"imported": "manage"}}
    silent = made(run, "on-demand", managed, tags={}, network_tags=[]).one(NODE_POOL)
    kept = set(silent.ignored)
    assert {"nodeConfig.resourceLabels", "nodeConfig.tags"} <= kept
    assert "nodeConfig.labels" not in kept


@pytest.mark.parametrize(
    ("identifier", "said"),
    [
        ("stand-in/us-central1/other/old-pool", "of the cluster other, and the fleet's is ml"),
        ("stand-in/us-east1/ml/old-pool", "in us-east1, and the cluster is in us-central1"),
        ("elsewhere/us-central1/ml/old-pool", "of the project elsewhere, and the fleet's is"),
    ],
)
def test_a_pool_of_another_cluster_is_not_taken_over(run: Any, identifier: str, said: str) -> None:
    text = refused(run, "on-demand", {"import_id": identifier})
    assert "gke-import-of-other-cluster: pool.importId" in text
    assert said in text


def test_long_names_keep_the_pools_own_part(run: Any) -> None:
    long = made(run, "on-demand", {"name": "a" * 36}, name_prefix="production")
    assert long.one(NODE_POOL).inputs["name"] == "pro-" + "a" * 36
    longest = made(run, "on-demand", {"name": "b" * 40}, name_prefix="production")
    assert longest.one(NODE_POOL).inputs["name"] == "b" * 40


def test_a_wrong_pool_is_refused_before_anything_is_made(run: Any) -> None:
    text = refused(run, "spot", {"gke": {"secure_boot": True, "driver": "gpuOperator"}})
    assert "pool.gke.secureBoot" in text
