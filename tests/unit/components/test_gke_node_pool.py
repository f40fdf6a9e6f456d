from typing import Any

import pytest

from gpufleet import GkeGpuNodePool
from gpufleet.inputs import InvalidArgumentsError
from gpufleet.sandbox.cloud.checking import problems
from gpufleet.sandbox.cloud.cloud import sdk
from gpufleet.sandbox.cloud.clouds import Clouds
from gpufleet.sandbox.cloud.enumerations import enumeration_problems
from gpufleet.sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet.sandbox.cloud.gcp.message import node_pool_message
from tests.unit.components.gke_pools import POOLS, arguments
from tests.unit.components.snapshots import assert_snapshot, whole

NODE_POOL = "gcp:container/nodePool:NodePool"
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
def test_sdk_provider_and_api_accept_every_pool(run: Any, tmp_path: Any, case: str) -> None:
    record = sdk("gcp").resource(NODE_POOL).record
    allowed = Clouds(tmp_path).gcp.values_allowed(NODE_POOL)
    for pool in made(run, case).all(NODE_POOL):
        inputs = whole(pool.inputs)
        assert problems(record, inputs) == []
        assert enumeration_problems(allowed, inputs) == []
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
    assert pool["upgradeSettings"] == {"strategy": "SHORT_LIVED"}


def test_queued_nodes_come_all_at_once(run: Any) -> None:
    pool = one(run, "queued")
    assert pool["queuedProvisioning"] == {"enabled": True}
    assert pool["nodeConfig"]["labels"]["cloud.google.com/gke-queued"] == "true"
    assert pool["nodeConfig"]["maxRunDuration"] == "604800s"
    assert pool["management"] == {"autoRepair": False, "autoUpgrade": False}
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


def test_networks_that_are_missing_are_named(run: Any) -> None:
    text = refused(run, "tcpx", gpu_networks={"vpc1": {"network": "a", "subnetwork": "b"}})
    assert "vpc2, vpc3, vpc4 are missing" in text
    assert "connection.gpuNetworks" in text


def test_raw_arguments_are_merged_last(run: Any) -> None:
    raw = {"node_pool": {"nodeConfig": {"loggingVariant": "MAX_THROUGHPUT"}}}
    config = one(run, "on-demand", {"gke": raw})["nodeConfig"]
    assert (config["loggingVariant"], config["machineType"]) == ("MAX_THROUGHPUT", "g2-standard-4")
    assert "pools[0].gke.nodePool.cluster" in refused(
        run, "on-demand", {"gke": {"node_pool": {"cluster": "other"}}}
    )


def test_an_imported_pool_keeps_its_name(run: Any) -> None:
    identifier = "stand-in/us-central1/ml/old-pool"
    assert one(run, "on-demand", {"import_id": identifier})["name"] == "old-pool"


def test_long_names_keep_the_pools_own_part(run: Any) -> None:
    long = made(run, "on-demand", {"name": "a" * 36}, name_prefix="production")
    assert long.one(NODE_POOL).inputs["name"] == "pro-" + "a" * 36
    longest = made(run, "on-demand", {"name": "b" * 40}, name_prefix="production")
    assert longest.one(NODE_POOL).inputs["name"] == "b" * 40


def test_a_wrong_pool_is_refused_before_anything_is_made(run: Any) -> None:
    text = refused(run, "spot", {"gke": {"secure_boot": True, "driver": "gpuOperator"}})
    assert "pools[0].gke.secureBoot" in text
