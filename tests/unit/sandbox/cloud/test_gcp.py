"""The Google project: node pools as the container API's own messages, and what GKE refuses."""

import copy
from typing import Any

import pytest

from gpufleet_sandbox.cloud.cloud import CloudError
from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet_sandbox.cloud.gcp.message import node_pool_message
from tests.unit.sandbox.cloud.provider_calls import Caller, RefusedError

NODE_POOL = "gcp:container/nodePool:NodePool"
RESERVED = {
    "consumeReservationType": "SPECIFIC_RESERVATION",
    "key": "compute.googleapis.com/reservation-name",
    "values": ["gpus"],
}


def pool(config: dict[str, Any] | None = None, /, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "cluster": "ml",
        "location": "us-central1",
        "name": "pool",
        "nodeConfig": {
            "machineType": "a2-highgpu-1g",
            "guestAccelerators": [
                {
                    "type": "nvidia-tesla-a100",
                    "count": 1,
                    "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
                }
            ],
            "labels": {"a": "b"},
            "resourceLabels": {"team": "ml"},
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
            **(config or {}),
        },
        "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4, "locationPolicy": "ANY"},
        "management": {"autoRepair": True, "autoUpgrade": True},
        "maxPodsPerNode": 32,
        "upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1},
        **changed,
    }
    return {key: value for key, value in copy.deepcopy(given).items() if value is not None}


def accelerator(**changed: Any) -> dict[str, Any]:
    return {"guestAccelerators": [{"type": "nvidia-tesla-a100", "count": 1, **changed}]}


def test_a_pool_becomes_the_message_of_the_api() -> None:
    message = node_pool_message(pool({"gpudirectStrategy": "RDMA", "maxRunDuration": "604800s"}))
    assert message.config.accelerators[0].accelerator_type == "nvidia-tesla-a100"
    assert dict(message.config.resource_labels) == {"team": "ml"}
    assert message.config.gpu_direct_config.gpu_direct_strategy.name == "RDMA"
    assert message.max_pods_constraint.max_pods_per_node == 32
    assert message.autoscaling.enabled
    admit_node_pool(message)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (pool({"machinetype": "x"}), "machinetype"),
        (pool(accelerator(gpuSharingConfig={"gpuSharingStrategy": "SLICES"})), "SLICES"),
        (pool(placementPolicy={"type": "SPREAD"}), "SPREAD"),
        (pool({"gpudirectStrategy": "TCPXO"}), "TCPXO"),
    ],
)
def test_fields_and_values_the_api_lacks_are_refused(given: dict[str, Any], text: str) -> None:
    with pytest.raises(CloudError, match=f"Invalid JSON payload.*{text}"):
        node_pool_message(given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (pool({"spot": True, "flexStart": True}), "spot and flexStart exclude each other"),
        (pool({"spot": True, "reservationAffinity": RESERVED}), "spot and a reservation exclude"),
        (pool({"flexStart": True}), "flex start needs auto repair off"),
        (pool(accelerator(count=2)), "a2-highgpu-1g has 1 accelerators, not 2"),
        (pool(accelerator(type="nvidia-l4")), "has nvidia-tesla-a100, not nvidia-l4"),
        (pool(accelerator(gpuPartitionSize="1g.10gb")), "no partition size 1g.10gb"),
        (
            pool(
                accelerator(
                    gpuSharingConfig={"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 49}
                )
            ),
            "between 2 and 48, and is 49",
        ),
        (
            pool({"reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}),
            "needs the key",
        ),
        (
            pool(
                {"reservationAffinity": {**RESERVED, "consumeReservationType": "ANY_RESERVATION"}}
            ),
            "only SPECIFIC_RESERVATION takes",
        ),
        (
            pool(queuedProvisioning={"enabled": True}, autoscaling=None),
            "queued provisioning needs autoscaling",
        ),
        (
            pool({"reservationAffinity": RESERVED}, queuedProvisioning={"enabled": True}),
            "queued provisioning excludes",
        ),
        (
            pool(
                placementPolicy={"type": "COMPACT"},
                nodeLocations=["us-central1-a", "us-central1-b"],
            ),
            "exactly one zone",
        ),
        (
            pool(placementPolicy={"type": "COMPACT"}, upgradeSettings={"strategy": "BLUE_GREEN"}),
            "excludes blue-green",
        ),
        (
            pool(autoscaling={"totalMaxNodeCount": 4, "maxNodeCount": 2}),
            "per zone or total, not both",
        ),
        (pool(autoscaling={"totalMinNodeCount": 5, "totalMaxNodeCount": 4}), "above the maximum"),
        (pool(autoscaling={"totalMaxNodeCount": 0}), "a maximum of at least 1"),
        (pool(upgradeSettings={"strategy": "SURGE"}), "cannot both be 0"),
        (pool(upgradeSettings={"maxSurge": 15, "maxUnavailable": 6}), "together are at most 20"),
        (
            pool(
                {},
                networkConfig={
                    "acceleratorNetworkProfile": "auto",
                    "additionalNodeNetworkConfigs": [{"network": "n", "subnetwork": "s"}],
                },
            ),
            "excludes additional node networks",
        ),
        (
            pool(
                {
                    "ephemeralStorageLocalSsdConfig": {"localSsdCount": 1},
                    "localNvmeSsdBlockConfig": {"localSsdCount": 1},
                }
            ),
            "not both",
        ),
        (pool({"diskSizeGb": 5}), "at least 10 GB, not 5"),
    ],
)
def test_gke_refuses(given: dict[str, Any], text: str) -> None:
    with pytest.raises(CloudError, match=text):
        admit_node_pool(node_pool_message(given))


def test_a_pool_through_the_provider(gcp: Caller) -> None:
    identifier, outputs, recorded = gcp.create(NODE_POOL, pool())
    assert identifier == "projects/stand-in/locations/us-central1/clusters/ml/nodePools/pool"
    assert outputs["instanceGroupUrls"][0].endswith("/instanceGroupManagers/gke-pool-grp")
    changed = pool({"spot": True})
    difference = gcp.diff(NODE_POOL, identifier, recorded, changed, outputs)
    assert list(difference.replaces) == ["nodeConfig"]
    labels = gcp.diff(NODE_POOL, identifier, recorded, pool({"labels": {"a": "c"}}), outputs)
    assert (list(labels.replaces), list(labels.diffs)) == ([], ["nodeConfig"])
    limits = {"totalMinNodeCount": 5, "totalMaxNodeCount": 4}
    with pytest.raises(RefusedError, match="above the maximum"):
        gcp.update(NODE_POOL, identifier, recorded, pool(autoscaling=limits))
    gcp.delete(NODE_POOL, identifier)
    with pytest.raises(RefusedError, match="nodeCount cannot be set with autoscaling"):
        gcp.create(NODE_POOL, pool(nodeCount=1))


def test_values_the_provider_checks_are_named(gcp: Caller) -> None:
    driver = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "SPECIFIC"}}
    _, failures = gcp.check(NODE_POOL, pool(accelerator(**driver)))
    (text,) = failures
    assert text.startswith(
        "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig.gpuDriverVersion: must be one"
    )
    assert text.endswith("and is 'SPECIFIC'")


def test_a_pool_is_found_by_every_form_of_its_id(gcp: Caller) -> None:
    identifier, _, _ = gcp.create(NODE_POOL, pool())
    for form in (identifier, "stand-in/us-central1/ml/pool", "us-central1/ml/pool"):
        found, properties = gcp.read(NODE_POOL, form)
        assert (found, properties["name"]) == (identifier, "pool")
    for other in ("elsewhere/us-central1/ml/pool", "ml/pool", "pool"):
        assert gcp.read(NODE_POOL, other) == ("", {})
