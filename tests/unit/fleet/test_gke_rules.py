"""Rules of GKE pools: each pair of options that exclude each other, every machine of the table."""

from typing import Any

import pytest

from gpufleet.catalogue import Catalogue, Cloud, load
from gpufleet.fleet import compile_data
from gpufleet.fleet.gke_shape import gke_shape
from gpufleet.fleet.model import Unbounded
from gpufleet.render.gke_node_pool import node_pools
from gpufleet.render.gpu_operator_values import fleet_operator_settings, operator_values
from gpufleet.render.kueue_flavors import resource_flavor
from gpufleet.render.manifests import critical_pods_quota
from gpufleet.render.pod_request import pod_spec
from gpufleet.sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet.sandbox.cloud.gcp.message import node_pool_message

CATALOGUE: Catalogue = load("2026.11")
ROWS = [row for row in CATALOGUE.instances.values() if row.cloud is Cloud.GCP]
ZONE = {"zones": ["us-central1-a"]}
RESERVED = {"reserved": {"id": "gpus", "zone": "us-central1-a"}}
FLEX, QUEUED, SPOT = {"flexStart": {}}, {"queued": {}}, {"spot": {}}
L4 = {"gpu": "L4"}
H100 = {"instanceTypes": ["a3-highgpu-8g"]}


def compiled(pool: dict[str, Any], version: str = "1.36") -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": version},
            "pools": [{"name": "p", "nodes": {"min": 0, "max": 3}, **pool}],
        }
    )


def found(pool: dict[str, Any], version: str = "1.36") -> dict[str, tuple[str, str]]:
    result = compiled(pool, version)
    return {one.code: (one.path, one.message) for one in result.findings}


def gke(**options: Any) -> dict[str, Any]:
    return {"gke": options}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_machine_is_a_valid_pool_or_refused_for_the_true_reason(row: Any) -> None:
    result = compiled({"instanceTypes": [row.name]})
    errors = [one.code for one in result.findings if one.severity.value == "error"]
    if row.family in ("ct3", "ct3p"):
        assert errors == ["tpu-machine-unknown"]
    elif row.accelerator.gpu.startswith("TPU"):
        assert errors == []
        (pool,) = result.fleet.pools
        assert dict(pool.advertised) == {"google.com/tpu": row.accelerator.count}
        (arguments,) = node_pools(pool, "ml", {}).values()
        admit_node_pool(node_pool_message(arguments))
        assert "guestAccelerators" not in arguments["nodeConfig"]
    elif row.attachable:
        assert errors == ["gke-host-missing"]
    elif row.on_demand.offer.value == "not-sold":
        assert errors == ["capacity-not-sold"]
    else:
        assert errors == []
        (pool,) = result.fleet.pools
        (arguments,) = node_pools(pool, "ml", {}).values()
        message = node_pool_message(arguments)
        admit_node_pool(message)
        (accelerator,) = message.config.accelerators
        assert accelerator.accelerator_count == row.accelerator.count == pool.gpus_per_node
        assert accelerator.accelerator_type == row.gke_accelerator_type
        assert CATALOGUE.device_memory(row) == pool.partition.shares[0].memory_bytes


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "reserved" in row.purchase_options], ids=lambda row: row.name
)
def test_every_machine_that_can_be_reserved_compiles_so(row: Any) -> None:
    pool: dict[str, Any] = {"instanceTypes": [row.name], "capacity": [RESERVED]}
    if row.attachable:
        count = row.accelerator.count
        pool = {"gpu": row.accelerator.gpu, "gpusPerNode": count, "capacity": [RESERVED]}
        pool["instanceTypes"] = ["n1-standard-8"]
    result = compiled(pool)
    assert [one for one in result.findings if one.severity.value == "error"] == []
    for arguments in node_pools(result.fleet.pools[0], "ml", {}).values():
        admit_node_pool(node_pool_message(arguments))


def test_the_table_has_sixty_rows() -> None:
    assert len(ROWS) == 60


@pytest.mark.parametrize(
    "row",
    [
        row
        for row in ROWS
        if CATALOGUE.gpu(row.accelerator.gpu).vendor == "nvidia" and not row.attachable
    ],
    ids=lambda row: row.name,
)
def test_every_partition_size_a_gpu_lacks_is_refused(row: Any) -> None:
    every = {size for other in ROWS for size in other.gke_partition_sizes}
    assert every
    for size in sorted(every - set(row.gke_partition_sizes)):
        sharing = {"mig": {"layouts": [{"devices": {size: 1}}]}}
        errors = found({"instanceTypes": [row.name], "sharing": sharing, "capacity": [RESERVED]})
        assert any(path.startswith("pools[0].sharing") for path, _ in errors.values()), (
            row.name,
            size,
            errors,
        )


@pytest.mark.parametrize(
    ("pool", "code", "path"),
    [
        (
            {**L4, "capacity": [QUEUED, SPOT]},
            "capacity-not-combinable",
            "pools[0].capacity[0].queued",
        ),
        (
            {**L4, **ZONE, "capacity": [QUEUED, RESERVED]},
            "capacity-not-combinable",
            "pools[0].capacity[0].queued",
        ),
        (
            {**L4, "capacity": [SPOT], **gke(openReservations=True)},
            "gke-open-reservations-not-on-demand",
            "pools[0].gke.openReservations",
        ),
        (
            {**L4, "capacity": [FLEX], **gke(openReservations=True)},
            "gke-open-reservations-not-on-demand",
            "pools[0].gke.openReservations",
        ),
        (
            {**L4, "capacity": [QUEUED], **gke(openReservations=True)},
            "gke-open-reservations-not-on-demand",
            "pools[0].gke.openReservations",
        ),
        (
            {**H100, **ZONE, "capacity": [QUEUED], **gke(compactPlacement=True)},
            "gke-compact-with-queued",
            "pools[0].gke.compactPlacement",
        ),
        (
            {**H100, **ZONE, "capacity": [FLEX], **gke(compactPlacement=True)},
            "gke-compact-with-flex-start",
            "pools[0].gke.compactPlacement",
        ),
        (
            {**H100, **ZONE, **gke(compactPlacement=True, upgrade={"strategy": "blueGreen"})},
            "gke-compact-with-blue-green",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {
                **H100,
                "zones": ["us-central1-a", "us-central1-b"],
                **gke(compactPlacement=True),
            },
            "gke-one-zone",
            "pools[0].zones",
        ),
        (
            {**H100, "fabric": "tcpx", "zones": ["us-central1-a", "us-central1-b"]},
            "gke-one-zone",
            "pools[0].zones",
        ),
        ({**H100, **gke(compactPlacement=True)}, "gke-zone-missing", "pools[0].zones"),
        (
            {**H100, "capacity": [{"reserved": {"id": "gpus"}}]},
            "gke-zone-missing",
            "pools[0].zones",
        ),
        (
            {**H100, "zones": ["us-central1-b"], "capacity": [RESERVED]},
            "gke-reservation-in-other-zone",
            "pools[0].zones",
        ),
        ({**L4, "zones": ["us-east1-b"]}, "zone-not-of-region", "pools[0].zones[0]"),
        (
            {**L4, "capacity": [FLEX], **gke(autoRepair=True)},
            "gke-auto-repair-with-flex-start",
            "pools[0].gke.autoRepair",
        ),
        (
            {**L4, "capacity": [QUEUED], **gke(autoRepair=True)},
            "gke-auto-repair-with-flex-start",
            "pools[0].gke.autoRepair",
        ),
        (
            {**L4, "capacity": [FLEX], "nodes": {"min": 1, "max": 2}},
            "gke-minimum-with-flex-start",
            "pools[0].nodes.min",
        ),
        (
            {**L4, "capacity": [QUEUED], "nodes": {"min": 1, "max": 2}},
            "gke-minimum-with-flex-start",
            "pools[0].nodes.min",
        ),
        (
            {**L4, **gke(upgrade={"strategy": "shortLived"})},
            "gke-short-lived-upgrade",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {**L4, "capacity": [FLEX], **gke(upgrade={"strategy": "blueGreen"})},
            "gke-blue-green-without-spare",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {**H100, "capacity": [RESERVED], **gke(upgrade={"strategy": "blueGreen"})},
            "gke-blue-green-without-spare",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {**H100, **gke(localSsds=8)},
            "gke-local-ssd-count",
            "pools[0].gke.localSsds",
        ),
        (
            {**L4, **gke(localSsdUse="raw")},
            "gke-raw-ssd-without-ssd",
            "pools[0].gke.localSsdUse",
        ),
        (
            {"instanceTypes": ["g4-standard-48"], **gke(diskType="pd-ssd")},
            "gke-disk-type",
            "pools[0].gke.diskType",
        ),
        (
            {**L4, **gke(acceleratorNetworkProfile="auto")},
            "gke-network-profile-machine",
            "pools[0].gke.acceleratorNetworkProfile",
        ),
        (
            {**H100, **ZONE, "fabric": "tcpx", **gke(fastSocket=True)},
            "gke-fast-socket-with-gpudirect",
            "pools[0].gke.fastSocket",
        ),
        (
            {**L4, **gke(driver="gpuOperator", driverVersion="latest")},
            "gke-driver-version-of-operator",
            "pools[0].gke.driverVersion",
        ),
        (
            {**L4, **gke(driver="gpuOperator", secureBoot=True)},
            "gke-secure-boot-unsigned-driver",
            "pools[0].gke.secureBoot",
        ),
        (
            {**L4, "image": "ubuntu-gke", **gke(secureBoot=True)},
            "gke-secure-boot-unsigned-driver",
            "pools[0].gke.secureBoot",
        ),
        (
            {**L4, "capacity": [{"onDemand": {}}, SPOT], "nodes": {"min": 1, "max": 2}},
            "gke-ladder-minimum",
            "pools[0].nodes.min",
        ),
        (
            {**L4, "capacity": [{"onDemand": {}}, SPOT], "importId": "p/l/c/n"},
            "gke-ladder-import",
            "pools[0].importId",
        ),
        (
            {"instanceTypes": ["g2-standard-4", "g2-standard-8"]},
            "gke-one-machine-type",
            "pools[0].instanceTypes",
        ),
        (
            {"gpu": "P4", "gpusPerNode": 1, "instanceTypes": ["n1-standard-32"]},
            "gke-host-too-large",
            "pools[0].instanceTypes",
        ),
        (
            {**H100, "capacity": [{"reserved": {"id": "GPUs!", "zone": "us-central1-a"}}]},
            "gke-reservation-name",
            "pools[0].capacity[0].reserved.id",
        ),
        (
            {
                **H100,
                "capacity": [
                    {"reserved": {"id": "g", "zone": "us-central1-a", "blocks": ["a", "b"]}}
                ],
            },
            "gke-one-reservation-block",
            "pools[0].capacity[0].reserved.blocks",
        ),
        (
            {**L4, **gke(nodePool={"nodeCount": 3})},
            "raw-argument-wired",
            "pools[0].gke.nodePool.nodeCount",
        ),
        (
            {**L4, **gke(tpuTopology="2x4")},
            "gke-tpu-topology-without-tpu",
            "pools[0].gke.tpuTopology",
        ),
        (
            {**L4, "provisioner": "clusterAutoscaler"},
            "provisioner-not-on-platform",
            "pools[0].provisioner",
        ),
        (
            {**L4, "provisioner": "karpenter"},
            "provisioner-not-on-platform",
            "pools[0].provisioner",
        ),
    ],
)
def test_what_excludes_each_other_is_named_with_its_path(
    pool: dict[str, Any], code: str, path: str
) -> None:
    errors = found(pool)
    assert errors.get(code, ("not found", ""))[0] == path, errors
    assert not compiled(pool).deployable


def test_automatic_networks_need_a_new_cluster() -> None:
    pool = {**H100, **ZONE, "fabric": "tcpx", **gke(acceleratorNetworkProfile="auto")}
    path, message = found(pool, "1.33")["gke-network-profile-version"]
    assert path == "pools[0].gke.acceleratorNetworkProfile"
    assert "1.34.1-gke.1829001" in message
    assert "gke-network-profile-version" not in found(pool, "1.34")


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


@pytest.mark.parametrize(
    ("pool", "machine"),
    [
        ({"gpu": "H100-80GB", "gpusPerNode": 8, "fabric": "tcpx", **ZONE}, "a3-highgpu-8g"),
        ({"gpu": "H100-80GB", "gpusPerNode": 8, "fabric": "tcpxo", **ZONE}, "a3-megagpu-8g"),
        ({"gpu": "H100-80GB", "capacity": [SPOT]}, "a3-highgpu-1g"),
        (L4, "g2-standard-4"),
    ],
)
def test_the_one_machine_type_fits_network_and_purchase(pool: dict[str, Any], machine: str) -> None:
    result = compiled(pool)
    assert result.deployable, result.findings
    assert gke_shape(result.fleet.pools[0]).machine_type == machine


def test_a_ladder_is_counted_at_its_whole_height() -> None:
    one = compiled({**L4, "capacity": [{"onDemand": {}}]}).fleet.pools[0].spend
    two = compiled({**L4, "capacity": [{"onDemand": {}}, SPOT]}).fleet.pools[0].spend
    assert not isinstance(one.maximum, Unbounded)
    assert not isinstance(two.maximum, Unbounded)
    assert two.maximum > one.maximum


def test_every_gpudirect_has_its_interfaces() -> None:
    counts = {}
    for row in ROWS:
        if row.gpudirect and "reserved" in row.purchase_options:
            fabric = row.gpudirect.lower().replace("gpudirect", "").strip(" -")
            pool = {"instanceTypes": [row.name], "fabric": fabric, "capacity": [RESERVED]}
            counts[row.name] = len(gke_shape(compiled(pool).fleet.pools[0]).networks)
    assert counts == {
        "a3-highgpu-8g": 4,
        "a3-megagpu-8g": 8,
        "a3-ultragpu-8g": 9,
        "a3-ultragpu-8g-nolssd": 9,
        "a4-highgpu-8g": 9,
        "a4x-highgpu-4g": 5,
        "a4x-maxgpu-4g-metal": 5,
    }


def with_pools(*pools: dict[str, Any]) -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [{"nodes": {"min": 0, "max": 3}, **pool} for pool in pools],
        }
    )


def test_the_operator_finds_googles_driver_on_container_optimized_os() -> None:
    result = with_pools({"name": "a", **L4, **gke(driver="gpuOperator")})
    assert [one.code for one in result.findings] == ["gke-driver-installer-needed"]
    plan = result.fleet.addons.gpu_operator
    assert plan.driver_root == "/home/kubernetes/bin/nvidia"
    assert plan.toolkit_env == {"RUNTIME_CONFIG_SOURCE": "file"}
    values = operator_values(fleet_operator_settings(result.fleet))
    assert values["hostPaths"]["driverInstallDir"] == plan.driver_root
    assert values["toolkit"]["installDir"] == plan.driver_root
    assert values["toolkit"]["env"] == [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}]
    assert values["driver"]["enabled"] is False
    quota = critical_pods_quota(result.fleet)
    assert quota is not None
    assert quota["spec"]["hard"] == {"pods": "100"}


def test_on_ubuntu_the_operator_brings_its_own_driver() -> None:
    ubuntu = {"name": "b", **L4, "image": "ubuntu-gke", **gke(driver="gpuOperator")}
    plan = with_pools(ubuntu).fleet.addons.gpu_operator
    assert plan.driver_root is None
    assert plan.driver
    both = with_pools({"name": "a", **L4, **gke(driver="gpuOperator")}, ubuntu)
    (conflict,) = [one for one in both.findings if one.code == "gke-operator-two-drivers"]
    assert conflict.path == "pools[1].image"
    assert not both.deployable


def test_what_is_written_for_the_operator_stays() -> None:
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1", "kubernetesVersion": "1.32"},
            "pools": [
                {"name": "a", "nodes": {"min": 0, "max": 1}, **L4, "gke": {"driver": "gpuOperator"}}
            ],
            "addons": {
                "gpuOperator": {
                    "driver": {"installDir": "/elsewhere"},
                    "toolkit": {"env": {"A": "b"}},
                }
            },
        }
    )
    assert result.fleet is not None
    values = operator_values(fleet_operator_settings(result.fleet))
    assert values["hostPaths"]["driverInstallDir"] == "/elsewhere"
    assert values["toolkit"]["env"] == [{"name": "A", "value": "b"}]


def test_whoever_works_on_a_ladder_tolerates_its_class() -> None:
    pool = {"name": "a", **L4, "capacity": [{"onDemand": {}}, SPOT], **gke(driver="gpuOperator")}
    fleet = with_pools(pool).fleet
    (ladder,) = fleet.pools
    member = "cloud.google.com/compute-class"
    assert ladder.labels[member] == "a"
    assert member in [taint.key for taint in ladder.taints]
    assert [one.key for one in fleet.addons.gpu_operator.tolerations] == [member]
    flavor = resource_flavor(ladder, fleet)["spec"]
    assert flavor["nodeLabels"][member] == "a"
    assert {one["key"] for one in flavor["tolerations"]} == {"nvidia.com/gpu", member}
    spec = pod_spec(ladder, ladder.partition.shares[0])
    assert spec["nodeSelector"][member] == "a"
    assert {one["key"] for one in spec["tolerations"]} == {"nvidia.com/gpu", member}
