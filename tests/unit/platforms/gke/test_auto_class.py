"""ComputeClasses by which GKE makes node pools. Expected values are those of the definition that a
cluster serves (see `compute_class`) and of the GKE documentation."""

from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import NodeChangeKind
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.compute_class import compute_class
from gpufleet.platforms.gke.node_pool_arguments import node_pools

CHAT: dict[str, Any] = {"gpu": "L4"}
RESERVED = {
    "id": "projects/shared-gpus/reservations/h100",
    "zone": "us-central1-a",
    "blocks": ["block-1/reservationSubBlocks/sub-2"],
}


def data(pool: dict[str, Any], **fleet: Any) -> dict[str, Any]:
    one = {"name": "chat", "nodes": {"min": 0, "max": 4}, "provisioner": "computeClass", **pool}
    return {
        "catalogue": "2026.11",
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1"},
        "pools": [one],
        **fleet,
    }


def fleet_of(pool: dict[str, Any]) -> Fleet:
    compiled = compile_data(data(pool))
    assert compiled.fleet is not None, compiled.findings
    assert compiled.deployable, compiled.findings
    return compiled.fleet


def made(pool: dict[str, Any]) -> dict[str, Any]:
    (one,) = fleet_of(pool).pools
    manifest = compute_class(one, "ml")
    assert manifest is not None
    assert node_pools(one, "ml", {}) == {}
    return manifest


def codes(pool: dict[str, Any], **fleet: Any) -> dict[str, str]:
    found = compile_data(data(pool, **fleet)).findings
    return {
        one.code: one.severity.value
        for one in found
        if one.severity.value == "error" or one.code.startswith("compute-class")
    }


def test_one_rule_for_each_way_of_buying_in_order() -> None:
    bought = [{"reserved": RESERVED}, {"spot": {}}, {"flexStart": {"maxRunDuration": "12h"}}]
    spec = made({"instanceTypes": ["a3-highgpu-8g"], "capacity": bought})["spec"]
    reserved, spot, flex = spec["priorities"]
    assert reserved["machineType"] == "a3-highgpu-8g"
    assert reserved["gpu"] == {"type": "nvidia-h100-80gb", "count": 8, "driverVersion": "default"}
    assert reserved["reservations"] == {
        "affinity": "Specific",
        "specific": [
            {
                "name": "h100",
                "project": "shared-gpus",
                "zones": ["us-central1-a"],
                "reservationBlock": {
                    "name": "block-1",
                    "reservationSubBlock": {"name": "sub-2"},
                },
            }
        ],
    }
    assert (spot["spot"], spot["reservations"]) == (True, {"affinity": "None"})
    assert (flex["spot"], flex["flexStart"]) == (False, {"enabled": True})
    assert flex["maxRunDurationSeconds"] == 12 * 3600
    assert spec["nodePoolAutoCreation"] == {"enabled": True}
    assert spec["whenUnsatisfiable"] == "DoNotScaleUp"


def test_nodes_get_the_labels_and_taints_that_gke_does_not_set_itself() -> None:
    pool = {**CHAT, "team": "a", "taints": [{"key": "example.com/x", "effect": "NoExecute"}]}
    manifest = made(pool)
    config = manifest["spec"]["nodePoolConfig"]
    assert config["nodeLabels"] == {"gpufleet.dev/pool": "chat", "gpufleet.dev/team": "a"}
    assert config["taints"] == [{"key": "example.com/x", "effect": "NoExecute"}]
    assert config["imageType"] == "cos_containerd"
    assert "taints" not in made(CHAT)["spec"]["nodePoolConfig"]


def test_pods_select_the_class_and_tolerate_what_gke_sets() -> None:
    (pool,) = fleet_of(CHAT).pools
    selector = platform_rules(pool.platform).pod_selector(pool)
    assert selector == {"cloud.google.com/compute-class": "chat"}
    keys = {taint.key for taint in pool.taints}
    assert keys == {"nvidia.com/gpu", "cloud.google.com/compute-class"}


def test_disks_images_and_pods_are_in_the_rule() -> None:
    pool = {
        **CHAT,
        "disk": {"sizeGib": 300},
        "zones": ["us-central1-b"],
        "gke": {
            "driverVersion": "latest",
            "localSsds": 1,
            "maxPods": 32,
            "imageCache": "projects/ml/global/images/models",
            "openReservations": True,
            "locationPolicy": "balanced",
            "autoRepair": False,
        },
    }
    spec = made(pool)["spec"]
    (rule,) = spec["priorities"]
    assert rule["storage"] == {
        "bootDiskSize": 300,
        "bootDiskType": "pd-balanced",
        "localSSDCount": 1,
        "secondaryBootDisks": [
            {"diskImageName": "models", "project": "ml", "mode": "CONTAINER_IMAGE_CACHE"}
        ],
    }
    assert rule["location"] == {"locationPolicy": "BALANCED", "zones": ["us-central1-b"]}
    assert rule["reservations"] == {"affinity": "AnyBestEffort"}
    assert (rule["maxPodsPerNode"], rule["gpu"]["driverVersion"]) == (32, "latest")
    config = spec["nodePoolConfig"]
    assert (config["autoRepair"], config["imageStreaming"]) == (False, {"enabled": True})


def test_nothing_privileged_is_installed() -> None:
    fleet = fleet_of(CHAT)
    assert not fleet.addons.gpu_operator.enabled
    assert not fleet.addons.device_plugin.enabled
    assert not fleet.addons.network_operator.enabled


def test_the_missing_limit_is_reported() -> None:
    assert codes(CHAT) == {"compute-class-without-limit": "warning"}


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        ({**CHAT, "sharing": {"timeSlicing": {"replicas": 4}}}, "compute-class-sharing"),
        ({**CHAT, "nodes": {"min": 1, "max": 4}}, "compute-class-minimum"),
        (
            {
                "instanceTypes": ["a3-megagpu-8g"],
                "fabric": "tcpxo",
                "intent": "training",
                "zones": ["us-central1-a"],
            },
            "compute-class-has-none",
        ),
        ({**CHAT, "capacity": [{"queued": {}}]}, "compute-class-has-none"),
        ({**CHAT, "gke": {"driver": "gpuOperator"}}, "compute-class-has-none"),
        ({**CHAT, "gke": {"secureBoot": True}}, "compute-class-decides"),
        (
            {**CHAT, "gke": {"nodePool": {"nodeConfig": {"resourceManagerTags": {"a": "b"}}}}},
            "compute-class-decides",
        ),
        (
            {**CHAT, "taints": [{"key": "cloud.google.com/compute-class"}]},
            "taint-twice",
        ),
        (
            {**CHAT, "taints": [{"key": "example.com/team", "value": "ab"}]},
            "compute-class-taint-value",
        ),
    ],
)
def test_what_a_class_does_not_have_is_refused(pool: dict[str, Any], code: str) -> None:
    found = codes(pool)
    found.pop("compute-class-without-limit")
    assert found == {code: "error"}


def test_no_setting_of_the_kubelet_is_dropped_silently() -> None:
    refused = codes({**CHAT, "kubelet": {"cpuManager": "static"}})
    assert [code for code, severity in refused.items() if severity == "error"] != []


def test_older_releases_need_auto_provisioning_of_the_whole_cluster() -> None:
    cluster = {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.32"}
    assert codes(CHAT, cluster=cluster)["gke-version-too-old"] == "error"


def test_a_change_of_the_provisioner_replaces_the_nodes() -> None:
    old, new = fleet_of({**CHAT, "provisioner": "managed"}), fleet_of(CHAT)
    (change,) = change_plan(old, new).pools
    assert change.kind in {NodeChangeKind.NEW_NODES, NodeChangeKind.NEW_POOL}


def test_an_edit_of_the_class_leaves_the_nodes_that_exist() -> None:
    old, new = fleet_of(CHAT), fleet_of({**CHAT, "disk": {"sizeGib": 300}})
    (change,) = change_plan(old, new).pools
    assert change.kind not in {NodeChangeKind.NEW_POOL, NodeChangeKind.UNKNOWN}
