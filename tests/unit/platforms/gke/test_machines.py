"""Every machine of the table on GKE: default, reserved, partitioned, connected."""

from typing import Any

import pytest

from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
from gpufleet_sandbox.cloud.gcp.message import node_pool_message
from tests.unit.platforms.gke.fleet_pools import (
    CATALOGUE,
    L4,
    ON_DEMAND,
    RESERVED,
    ROWS,
    SPOT,
    ZONE,
    compiled,
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_machine_is_a_valid_pool_or_refused_for_the_true_reason(row: Any) -> None:
    result = compiled({"instanceTypes": [row.name]})
    errors = [one.code for one in result.findings if one.severity.value == "error"]
    if row.name == "ct3p-hightpu-4t":
        assert errors == ["tpu-topology-missing"]
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
    "row",
    [row for row in ROWS if "reserved" in row.purchase_options],
    ids=lambda row: row.name,
)
def test_every_machine_that_can_be_reserved_compiles_so(row: Any) -> None:
    pool: dict[str, Any] = {"instanceTypes": [row.name], "capacity": [RESERVED]}
    if row.attachable:
        count = row.accelerator.count
        pool = {"gpu": row.accelerator.gpu, "gpusPerNode": count, "capacity": [RESERVED]}
        pool["instanceTypes"] = ["n1-standard-8"]
    if row.name == "ct3p-hightpu-4t":
        pool |= {"gke": {"tpuTopology": "4x4"}, "nodes": {"min": 0, "max": 4}}
    result = compiled(pool)
    assert [one for one in result.findings if one.severity.value == "error"] == []
    for arguments in node_pools(result.fleet.pools[0], "ml", {}).values():
        admit_node_pool(node_pool_message(arguments))


def test_every_row_that_can_be_bought_is_one_of_those_tested() -> None:
    assert {row.name for row in ROWS if not row.purchase_options} == {
        "a3-edgegpu-8g",
        "a3-edgegpu-8g-nolssd",
    }


def test_the_table_has_all_rows() -> None:
    assert len(ROWS) == 62


NVIDIA = pytest.mark.parametrize(
    "row",
    [
        row
        for row in ROWS
        if CATALOGUE.gpu(row.accelerator.gpu).vendor == "nvidia" and not row.attachable
    ],
    ids=lambda row: row.name,
)


def cut_into(row: Any, size: str, count: int) -> Any:
    sharing = {"mig": {"layouts": [{"devices": {size: count}}]}}
    mode = next((way for way in (ON_DEMAND, SPOT) if {*way} <= row.purchase_options), RESERVED)
    return compiled({"instanceTypes": [row.name], "sharing": sharing, "capacity": [mode]})


@NVIDIA
def test_every_partition_size_a_gpu_lacks_is_refused(row: Any) -> None:
    every = {size for other in ROWS for size in other.gke_partition_sizes}
    assert every
    for size in sorted(every - set(row.gke_partition_sizes)):
        refused = cut_into(row, size, 1).findings
        assert any(one.path.startswith("pools[0].sharing") for one in refused), (row.name, size)


@NVIDIA
def test_every_partition_size_that_works_fills_the_gpus(row: Any) -> None:
    for size, count in row.offered_partition_sizes.items():
        result = cut_into(row, size, count)
        errors = [one.code for one in result.findings if one.severity.value == "error"]
        assert errors == ([] if row.purchase_options else ["capacity-not-sold"])
        if errors:
            continue
        (pool,) = result.fleet.pools
        assert dict(pool.advertised) == {"nvidia.com/gpu": row.accelerator.count * count}
        (arguments,) = node_pools(pool, "ml", {}).values()
        admit_node_pool(node_pool_message(arguments))
        (accelerator,) = arguments["nodeConfig"]["guestAccelerators"]
        assert accelerator["gpuPartitionSize"] == size


@pytest.mark.parametrize(
    ("machine", "size"),
    [
        ("a2-highgpu-1g", "4g.20gb"),
        ("a2-ultragpu-1g", "4g.40gb"),
        ("a3-highgpu-8g", "4g.40gb"),
        ("a3-ultragpu-8g", "4g.71gb"),
        ("a4-highgpu-8g", "4g.90gb"),
        ("a4x-highgpu-4g", "4g.93gb"),
    ],
)
def test_gke_has_no_4g_partition_of_seven_slices(machine: str, size: str) -> None:
    (refused,) = [
        one
        for one in cut_into(CATALOGUE.instance(machine), size, 1).findings
        if one.severity.value == "error"
    ]
    assert (refused.code, refused.path) == (
        "gke-partition-size-unknown",
        "pools[0].sharing.mig.layouts",
    )
    assert f"GKE does not offer {size} on {machine}" in refused.message
    assert "gpuOperator" in (refused.fix or "")


def test_all_of_an_rtx_pro_6000_is_a_4g_partition() -> None:
    assert "4g.96gb" in CATALOGUE.instance("g4-standard-48").offered_partition_sizes


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
        "a4x-maxgpu-4g-metal-nolssd": 5,
    }
