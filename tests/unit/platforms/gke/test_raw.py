"""Raw arguments and tags on GKE, and odd declarations that look right."""

from typing import Any

import pytest

from tests.unit.platforms.gke.fleet_pools import L4, QUEUED, SPOT, compiled, found, gke, with_pools


@pytest.mark.parametrize(
    ("raw", "code", "place"),
    [
        ({"nodeCount": 3}, "raw-argument-wired", "nodeCount"),
        ({"nodeConfig": None}, "raw-argument-no-object", "nodeConfig"),
        ({"nodeConfig": "x"}, "raw-argument-no-object", "nodeConfig"),
        ({"autoscaling": {"totalMaxNodeCount": 300}}, "raw-argument-decided", "autoscaling"),
        ({"nodeLocations": ["us-central1-f"]}, "raw-argument-decided", "nodeLocations"),
        ({"nodeConfig": {"spot": True}}, "raw-argument-decided", "nodeConfig.spot"),
        ({"nodeConfig": {"preemptible": True}}, "raw-argument-decided", "nodeConfig.preemptible"),
        (
            {"nodeConfig": {"machineType": "n1-standard-1"}},
            "raw-argument-decided",
            "nodeConfig.machineType",
        ),
        (
            {"nodeConfig": {"guestAccelerators": []}},
            "raw-argument-decided",
            "nodeConfig.guestAccelerators",
        ),
        ({"nodeConfig": {"taints": []}}, "raw-argument-decided", "nodeConfig.taints"),
        (
            {"nodeConfig": {"labels": {"cloud.google.com/gke-nodepool": "other"}}},
            "raw-argument-decided",
            "nodeConfig.labels",
        ),
        (
            {"nodeConfig": {"bootDisk": {"sizeGb": 100}}},
            "raw-argument-decided",
            "nodeConfig.bootDisk.sizeGb",
        ),
    ],
)
def test_raw_arguments_never_change_what_the_fleet_promises(
    raw: dict[str, Any], code: str, place: str
) -> None:
    pool = {**L4, **gke(nodePool=raw)}
    assert found(pool)[code][0] == f"pools[0].gke.nodePool.{place}"
    assert not compiled(pool).deployable


MEGA = {
    "instanceTypes": ["a3-megagpu-8g"],
    "intent": "training",
    "fabric": "tcpxo",
    "zones": ["us-central1-a"],
}
FLEX = {**L4, "capacity": [{"flexStart": {}}]}
COMBINED = "gke-arguments-exclude-each-other"


@pytest.mark.parametrize(
    ("pool", "raw", "code", "place"),
    [
        (
            L4,
            {"upgradeSettings": {"strategy": "SHORT_LIVED"}},
            "provider-refuses-argument",
            "upgradeSettings.strategy",
        ),
        (
            L4,
            {"nodeConfig": {"workloadMetadataConfig": {"mode": "EXPOSE"}}},
            "provider-refuses-argument",
            "nodeConfig.workloadMetadataConfig.mode",
        ),
        (FLEX, {"management": {"autoRepair": True}}, COMBINED, "management.autoRepair"),
        (
            FLEX,
            {"upgradeSettings": {"strategy": "BLUE_GREEN"}},
            COMBINED,
            "upgradeSettings.strategy",
        ),
        (
            {**L4, "zones": ["us-central1-a"], **gke(compactPlacement=True)},
            {"upgradeSettings": {"strategy": "BLUE_GREEN"}},
            COMBINED,
            "upgradeSettings.strategy",
        ),
        (L4, {"upgradeSettings": {"maxUnavailable": 0}}, COMBINED, "upgradeSettings"),
        (L4, {"version": "1.36.1-gke.1"}, COMBINED, "version"),
        (
            MEGA,
            {"networkConfig": {"acceleratorNetworkProfile": "auto"}},
            COMBINED,
            "networkConfig.acceleratorNetworkProfile",
        ),
        (
            MEGA,
            {"networkConfig": {"additionalNodeNetworkConfigs": []}},
            COMBINED,
            "networkConfig.additionalNodeNetworkConfigs",
        ),
        (
            MEGA,
            {"nodeConfig": {"localNvmeSsdBlockConfig": {"localSsdCount": 16}}},
            COMBINED,
            "nodeConfig.localNvmeSsdBlockConfig",
        ),
        (MEGA, {"nodeConfig": {"gvnic": {"enabled": False}}}, COMBINED, "nodeConfig.gvnic"),
        (
            {**MEGA, **gke(secureBoot=False)},
            {"nodeConfig": {"imageType": "UBUNTU_CONTAINERD"}},
            COMBINED,
            "nodeConfig.imageType",
        ),
        (
            {**L4, **gke(driver="gpuOperator"), "image": "ubuntu-gke"},
            {"nodeConfig": {"shieldedInstanceConfig": {"enableSecureBoot": True}}},
            COMBINED,
            "nodeConfig.shieldedInstanceConfig.enableSecureBoot",
        ),
    ],
)
def test_raw_arguments_that_exclude_each_other_are_refused(
    pool: dict[str, Any], raw: dict[str, Any], code: str, place: str
) -> None:
    options = {**pool.get("gke", {}), "nodePool": raw}
    pool = {**pool, "gke": options}
    assert found(pool)[code][0] == f"pools[0].gke.nodePool.{place}"
    assert not compiled(pool).deployable
    assert code not in found({**pool, "gke": {**options, "nodePool": {}}})


def test_raw_arguments_may_add_what_nobody_else_decides() -> None:
    raw = {"nodeConfig": {"loggingVariant": "MAX_THROUGHPUT"}}
    assert compiled({**L4, **gke(nodePool=raw)}).findings == ()


def tagged(tags: dict[str, str]) -> dict[str, str]:
    result = with_pools({"name": "a", **L4}, tags=tags)
    return {one.code: one.path for one in result.findings}


def test_tags_that_cannot_be_labels_are_named() -> None:
    assert tagged({"Cost-Center": "A B", "x" * 70: "y" * 80}) == {}
    assert tagged({"1st": "a"}) == {"gke-tag-no-label": 'tags["1st"]'}
    assert tagged({"Cost": "a", "cost": "b"}) == {"gke-tag-twice": 'tags["cost"]'}


@pytest.mark.parametrize(
    ("pool", "code", "path"),
    [
        (
            {"gpu": "T4", "instanceTypes": ["n1-standard-3"]},
            "gke-host-unknown",
            "pools[0].instanceTypes",
        ),
        (
            {"gpu": "T4", "instanceTypes": ["n1-custom-8-20480"]},
            "gke-host-unknown",
            "pools[0].instanceTypes",
        ),
        (
            {**L4, "capacity": [{"reserved": {"id": "r", "zone": "us-central1-a"}}] * 2},
            "gke-reservation-twice",
            "pools[0].capacity[1].reserved",
        ),
        (
            {
                **L4,
                "capacity": [{"reserved": {"id": "r", "zone": "us-central1-a", "blocks": ["B!"]}}],
            },
            "gke-reservation-block-name",
            "pools[0].capacity[0].reserved.blocks",
        ),
        (
            {
                **L4,
                "capacity": [{"onDemand": {}}, SPOT],
                "taints": [{"key": "cloud.google.com/compute-class", "value": "x"}],
            },
            "taint-twice",
            "pools[0].taints[0]",
        ),
        (
            {**L4, **gke(imported="manage")},
            "gke-managed-without-import",
            "pools[0].gke.imported",
        ),
        (
            {"instanceTypes": ["a2-highgpu-1g"], **gke(diskType="hyperdisk-balanced")},
            "gke-disk-type",
            "pools[0].gke.diskType",
        ),
    ],
)
def test_what_looks_right_and_is_not(pool: dict[str, Any], code: str, path: str) -> None:
    assert found(pool)[code][0] == path
    assert not compiled(pool).deployable


def test_queued_nodes_without_anybody_who_asks_for_them_are_warned_of() -> None:
    path, message = found({**L4, "capacity": [QUEUED]})["gke-queued-without-queues"]
    assert path == "queues"
    assert "the fleet has no queues" in message
    queues = {"teams": [{"name": "research", "share": 1.0}]}
    asked = with_pools({"name": "a", **L4, "capacity": [QUEUED]}, queues=queues)
    assert "gke-queued-without-queues" not in {one.code for one in asked.findings}
