"""Rules of GKE pools that are not about two options: versions, single values, warnings."""

from typing import Any

import pytest

from gpufleet.platforms.gke.names import imported_place, node_pool_name
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.version_floors import FLOORS
from tests.unit.platforms.gke.fleet_pools import (
    CATALOGUE,
    H100,
    L4,
    RESERVED,
    SPOT,
    ZONE,
    compiled,
    found,
    gke,
    with_pools,
)


def test_automatic_networks_need_a_new_cluster() -> None:
    pool = {**H100, **ZONE, "fabric": "tcpx", **gke(acceleratorNetworkProfile="auto")}
    path, message = found(pool, "1.33")["gke-network-profile-version"]
    assert path == "pools[0].gke.acceleratorNetworkProfile"
    assert "1.34.1-gke.1829001" in message
    assert "gke-network-profile-version" not in found(pool, "1.34")


@pytest.mark.parametrize("buy", ["flexStart", "queued"])
@pytest.mark.parametrize("machine", ["a2-highgpu-1g", "a2-ultragpu-8g"])
def test_a2_is_sold_by_flex_start(machine: str, buy: str) -> None:
    pool = {"instanceTypes": [machine], "capacity": [{buy: {}}]}
    assert compiled(pool).deployable
    assert "capacity-not-sold" not in found(pool)


@pytest.mark.parametrize(
    ("machine", "version", "since"),
    [
        ("a3-highgpu-1g", "1.31", "1.32.2-gke.1652000"),
        ("ct6e-standard-1t", "1.32", "1.33.0-gke.1712000"),
    ],
)
def test_flex_start_needs_a_release_that_has_it(machine: str, version: str, since: str) -> None:
    pool = {"instanceTypes": [machine], "capacity": [{"flexStart": {}}]}
    path, message = found(pool, version)["gke-version-too-old"]
    assert path == "pools[0].capacity"
    assert since in message
    major, minor = version.split(".")
    assert "gke-version-too-old" not in found(pool, f"{major}.{int(minor) + 1}")


@pytest.mark.parametrize(
    ("machine", "more", "version", "since"),
    [
        ("g4-standard-6", {}, "1.33", "1.34.5-gke.1153000 or 1.35.2-gke.1485000"),
        ("g4-standard-48", {}, "1.31", "1.32.11-gke.1174000"),
        ("a4-highgpu-8g", gke(driverVersion="latest"), "1.31", "1.32.1-gke.1729000"),
        ("a4x-highgpu-4g", {}, "1.31", "1.32.8-gke.1108000 or 1.33.4-gke.1036000"),
        ("a4x-maxgpu-4g-metal", {}, "1.33", "1.34.3-gke.1318000 or 1.35.0-gke.2745000"),
        ("a3-ultragpu-8g", {"fabric": "rdma"}, "1.30", "1.31.4-gke.1183000"),
    ],
)
def test_machines_need_a_release_that_has_them(
    machine: str, more: dict[str, Any], version: str, since: str
) -> None:
    pool = {"instanceTypes": [machine], **more}
    _, message = found(pool, version)["gke-version-too-old"]
    assert f"needs GKE {since} or newer" in message
    major, minor = version.split(".")
    assert "gke-version-too-old" not in found(pool, f"{major}.{int(minor) + 1}")


def test_b200_on_1_32_needs_the_newest_driver() -> None:
    """GoogleCloudPlatform/cluster-toolkit pull request 3704: branch 570 is `latest` in GKE 1.32,
    and A4 must request it there."""
    a4 = {"instanceTypes": ["a4-highgpu-8g"]}
    path, message = found(a4, "1.32")["gke-version-too-old"]
    assert path == "pools[0].gke.driverVersion"
    assert "`driverVersion: latest`" in message
    assert "gke-version-too-old" not in found({**a4, **gke(driverVersion="latest")}, "1.32")


@pytest.mark.parametrize(
    ("version", "below"),
    [
        ("1.33.9-gke.1", True),
        ("1.34.4-gke.1193000", True),
        ("1.34.5-gke.1153000", False),
        ("1.35.1-gke.1396002", True),
        ("1.35.2-gke.1485000", False),
        ("1.36.0-gke.1", False),
    ],
)
def test_each_minor_version_has_its_own_first_release(version: str, below: bool) -> None:
    floor = next(one for _, one in FLOORS if one.what == "a part of a G4 GPU")
    assert floor.is_below(version) is below


def test_advice_on_partitions_can_be_followed() -> None:
    cut = {"sharing": {"mig": {"layouts": [{"devices": {"3g.20gb": 2}}]}}}
    pool = {"instanceTypes": ["a2-highgpu-1g"], **cut}
    (one,) = [one for one in compiled(pool).findings if one.code == "mig-layout-wasteful"]
    assert one.fix == (
        "choose a size that fills the GPU, or write `gke: {driver: gpuOperator}` to mix sizes"
    )
    assert "better" not in one.evidence
    mixed = compiled({**pool, **gke(driver="gpuOperator")}).findings
    (one,) = [one for one in mixed if one.code == "mig-layout-wasteful"]
    assert "better" in one.evidence


def test_the_fix_names_a_fabric_that_can_be_written() -> None:
    result = compiled({"instanceTypes": ["a3-megagpu-8g"], **ZONE, "fabric": "tcpx"})
    (fix,) = [one.fix for one in result.findings if one.code == "fabric-not-on-machine"]
    assert fix == "write `fabric: tcpxo`"
    result = compiled({"instanceTypes": ["a3-highgpu-1g"], **ZONE, "fabric": "tcpx"})
    (fix,) = [one.fix for one in result.findings if one.code == "fabric-not-on-machine"]
    assert "`fabric: tcpxo` and `instanceTypes: [a3-megagpu-8g]`" in str(fix)


@pytest.mark.parametrize(
    ("upgrade", "text"),
    [
        ({"maxSurge": 0, "maxUnavailable": 0}, "together must be 1 to 20"),
        ({"maxSurge": 15, "maxUnavailable": 6}, "together must be 1 to 20"),
    ],
)
def test_an_upgrade_moves_some_nodes(upgrade: dict[str, int], text: str) -> None:
    result = compiled({**L4, **gke(upgrade=upgrade)})
    (finding,) = result.findings
    assert text in finding.message
    assert finding.path.startswith("pools[0].gke.upgrade")


def test_an_image_cache_needs_streaming() -> None:
    (finding,) = compiled({**L4, **gke(imageCache="projects/p/i", imageStreaming=False)}).findings
    assert "imageCache needs image streaming" in finding.message


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        ({**H100, "intent": "training"}, "gke-training-without-gpudirect"),
        ({**L4, **gke(upgrade={"maxSurge": 1})}, "gke-surge-needs-spare-gpus"),
        ({**L4, "disk": {"sizeGib": 60}}, "disk-small-for-cuda"),
        ({**L4, "capacity": [{"onDemand": {}}, SPOT]}, "gke-ladder-limits"),
        (
            {**H100, **gke(acceleratorNetworkProfile="auto")},
            "gke-network-profile-without-fabric",
        ),
    ],
)
def test_what_is_only_warned_of(pool: dict[str, Any], code: str) -> None:
    assert code in found(pool)
    assert compiled(pool).deployable


def test_every_node_pool_of_a_ladder_may_be_full_at_the_same_time() -> None:
    """GKE goes on to the next way of buying when a node pool is at its largest size."""
    row = CATALOGUE.instance("g2-standard-4")
    listed, nodes = row.on_demand.micro_usd_per_hour, 3
    assert listed is not None
    fallback_order = compiled({**L4, "capacity": [{"onDemand": {}}, SPOT]})
    (pool,) = fallback_order.fleet.pools
    # Spot never costs more than the list price, and a second node pool is bought at it.
    assert pool.spend.maximum == nodes * (listed + listed)
    assert pool.spend.minimum == 0
    assert pool.spend.expected == pool.nodes.expected * listed
    (warned,) = [one for one in fallback_order.findings if one.code == "gke-ladder-limits"]
    assert warned.evidence == {"count": 2, "found": 3, "together": 6}


def test_limits_of_each_zone_are_counted_in_every_zone() -> None:
    zones = ["us-central1-a", "us-central1-b", "us-central1-a"]
    per_zone = {**L4, "zones": zones, **gke(limits="perZone"), "nodes": {"min": 1, "max": 3}}
    (pool,) = compiled(per_zone).fleet.pools
    (total,) = compiled({**L4, "nodes": {"min": 2, "max": 6}}).fleet.pools
    assert pool.nodes == total.nodes
    assert pool.spend == total.spend
    (arguments,) = node_pools(pool, "ml", {}).values()
    assert arguments["autoscaling"]["maxNodeCount"] == 3
    assert arguments["initialNodeCount"] == 1
    code = "gke-limits-of-unknown-zones"
    path, message = found({**L4, **gke(limits="perZone")})[code]
    assert path == "pools[0].zones"
    assert "how many nodes the pool may have" in message
    reserved = {**H100, "capacity": [RESERVED], **gke(limits="perZone")}
    assert code not in found(reserved)


@pytest.mark.parametrize(
    ("names", "prefix", "made"),
    [
        (("chat",), "ml", "ml-chat"),
        (("chat",), "1st-ML_prod", "st-ml-prod-chat"),
        (("a" * 36,), "production", "pro-" + "a" * 36),
        (("b" * 40,), "production", "b" * 40),
    ],
)
def test_a_node_pool_has_a_name_that_gke_takes(names: Any, prefix: str, made: str) -> None:
    (pool,) = with_pools(*({"name": name, **L4} for name in names)).fleet.pools
    (step,) = gke_shape(pool).steps
    assert node_pool_name(pool, step, prefix) == made


def test_a_long_ladder_has_different_names() -> None:
    capacity = [{"onDemand": {}}, SPOT, {"flexStart": {}}]
    fleet = with_pools(
        {"name": "c" * 40, **L4, "capacity": capacity},
        {"name": "c" * 39 + "d", **L4, "capacity": capacity},
    ).fleet
    names = [
        node_pool_name(pool, step, "ml") for pool in fleet.pools for step in gke_shape(pool).steps
    ]
    assert len(set(names)) == 6
    assert all(len(name) <= 40 for name in names)
    assert names[0].endswith("-on-demand")


def test_two_node_pools_of_one_name_are_refused() -> None:
    fallback_order = {"name": "chat", **L4, "capacity": [{"onDemand": {}}, SPOT]}
    result = with_pools(fallback_order, {"name": "chat-spot", **L4})
    (twice,) = [one for one in result.findings if one.severity.value == "error"]
    assert (twice.code, twice.path) == ("gke-node-pool-name-twice", "pools[1].name")
    assert "would be called ml-chat-spot, as one of chat" in twice.message
    imported = {"name": "old", **L4, "importId": "us-central1/ml/ml-new"}
    codes = [one.code for one in with_pools({"name": "new", **L4}, imported).findings]
    assert codes == ["gke-node-pool-name-twice"]


@pytest.mark.parametrize(
    ("identifier", "place"),
    [
        ("p/us-central1/ml/n", ("p", "us-central1", "ml", "n")),
        ("us-central1/ml/n", (None, "us-central1", "ml", "n")),
        ("projects/p/locations/l/clusters/c/nodePools/n", ("p", "l", "c", "n")),
        ("n", None),
        ("ml:n", None),
        ("a/b/c/d/e", None),
        ("//ml/n", None),
    ],
)
def test_the_id_of_a_node_pool_is_read(identifier: str, place: Any) -> None:
    names = imported_place(identifier)
    if place is None:
        assert names is None
        path, message = found({**L4, "importId": identifier})["gke-import-id"]
        assert (path, repr(identifier) in message) == ("pools[0].importId", True)
    else:
        assert names is not None
        read = tuple(names.get(key) for key in ("project", "location", "cluster", "name"))
        assert read == place


@pytest.mark.parametrize("machine", ["a4x-maxgpu-4g-metal", "a4x-maxgpu-4g-metal-nolssd"])
def test_bare_metal_does_not_get_the_networks_of_virtual_machines(machine: str) -> None:
    """Profile vpc-roce-metal, one subnet of Google's, eight interfaces (Compute Engine, create an
    A4X Max instance)."""
    pool = {"instanceTypes": [machine], "fabric": "rdma", "capacity": [RESERVED]}
    path, message = found(pool)["gke-metal-networks"]
    assert path == "pools[0].fabric"
    assert "vpc-roce-metal" in message
    automatic = gke(acceleratorNetworkProfile="auto")
    assert "gke-metal-networks" not in found({**pool, **automatic})
    assert "gke-metal-networks" not in found({**pool, "instanceTypes": ["a4x-highgpu-4g"]})


@pytest.mark.parametrize(
    "bought",
    [{**L4, "capacity": [SPOT, {"onDemand": {}}]}, {**L4, "provisioner": "computeClass"}],
)
def test_the_name_of_a_compute_class_does_not_begin_as_googles(bought: dict[str, Any]) -> None:
    for name, refused in {"gke-chat": True, "autopilot-1": True, "chat-gke": False}.items():
        at = found({**bought, "name": name}).get("gke-compute-class-name")
        assert (at is not None and at[0] == "pools[0].name") == refused
    assert "gke-compute-class-name" not in found({**L4, "name": "gke-chat"})


OPERATOR = gke(driver="gpuOperator")
SHARES = {"timeSlicing": {"replicas": 4}}
SLICES = {"mig": {"strategy": "mixed", "layouts": [{"devices": {"1g.5gb": 7}}]}}


@pytest.mark.parametrize(
    ("pool", "resources"),
    [
        ({**L4, "sharing": SHARES}, ["nvidia.com/gpu.shared"]),
        ({"instanceTypes": ["a2-highgpu-1g"], "sharing": SLICES}, ["nvidia.com/mig-1g.5gb"]),
    ],
)
def test_the_autoscaler_of_gke_knows_whole_gpus_alone(
    pool: dict[str, Any], resources: list[str]
) -> None:
    """kubernetes/autoscaler 00fcc0d `cloudprovider/gce/templates.go` (an empty group has
    `nvidia.com/gpu`), 1447925 `processors/customresources/gpu_processor.go` (a node without it is
    not ready)."""
    empty, unready = "gke-scale-from-zero", "gke-autoscaler-sees-unready"

    def codes(**more: Any) -> set[str]:
        return {empty, unready} & set(found({**pool, **OPERATOR, **more}))

    assert compiled({**pool, **OPERATOR}).deployable
    assert codes() == {empty, unready}
    assert codes(nodes={"min": 1, "max": 3}) == {unready}
    assert codes(nodes={"min": 2, "max": 2}) == set()
    assert codes(gke={}) == set()
    assert codes(sharing={"dra": {"namespaces": ["ml"]}}) == set()
    (one,) = [f for f in compiled({**pool, **OPERATOR}).findings if f.code == empty]
    assert one.evidence["resources"] == resources


def test_shares_under_the_own_name_start_from_zero() -> None:
    pool = {**L4, "sharing": {"timeSlicing": {"replicas": 4, "rename": False}}, **OPERATOR}
    assert not {"gke-scale-from-zero", "gke-autoscaler-sees-unready"} & set(found(pool))


def test_nodes_with_claims_are_named_to_the_autoscaler() -> None:
    """GKE documentation, `set-up-dra`: without the label an empty pool never starts (modelplane
    issue 306)."""
    label = "cloud.google.com/gke-nvidia-gpu-dra-driver"
    claimed = compiled({**L4, "sharing": {"dra": {"namespaces": ["ml"]}}, **OPERATOR}).fleet
    (arguments,) = node_pools(claimed.pools[0], "ml", {}).values()
    assert arguments["nodeConfig"]["labels"][label] == "true"
    whole = compiled({**L4, **OPERATOR}).fleet
    assert label not in whole.pools[0].labels


@pytest.mark.parametrize(
    ("name", "refused"),
    [("ml", False), ("a" * 40, False), ("a" * 41, True), ("Regional-1", True), ("a_b", True)],
)
def test_the_name_of_the_cluster_is_one_that_google_gives(name: str, refused: bool) -> None:
    """GKE API, Cluster.name."""
    fleet = compiled(L4, cluster={"name": name, "region": "us-central1"})
    at = [one.path for one in fleet.findings if one.code == "gke-cluster-name"]
    assert at == (["cluster.name"] if refused else [])


@pytest.mark.parametrize(
    ("machine", "mig", "code"),
    [
        ("g2-standard-8", {"layout": "all-1g.5gb"}, "mig-unsupported"),
        ("g2-standard-8", {"layout": "all-balanced"}, "mig-unsupported"),
        ("ct5lp-hightpu-4t", {"layout": "all-1g.5gb"}, "sharing-needs-nvidia"),
        ("a2-highgpu-1g", {"layouts": [{"devices": {}}]}, "gke-one-partition-size"),
        ("a3-highgpu-8g", {"layout": "all-disabled"}, "gke-one-partition-size"),
    ],
)
def test_layouts_that_cut_nothing_are_findings(machine: str, mig: Any, code: str) -> None:
    assert code in found({"instanceTypes": [machine], "sharing": {"mig": mig}})
