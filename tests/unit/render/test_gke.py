from typing import Any

import pytest

from gpufleet.documents.writing import yaml_stream
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.node_pool_arguments import gke_accelerator, node_pools
from tests.unit.render.fleets import eks, gke, one
from tests.unit.render.golden_files import assert_golden

POOLS = {pool.name: pool for pool in gke().pools}


def accelerator(pool: Pool) -> dict[str, Any]:
    found = gke_accelerator(pool)
    assert found is not None
    return found


def entry(name: str) -> dict[str, Any]:
    return accelerator(POOLS[name])


def test_golden_file() -> None:
    documents = [one for pool in POOLS.values() for one in node_pools(pool, "ml", {}).values()]
    assert_golden("gke-node-pools.yaml", yaml_stream(documents))


def test_partition_and_time_sharing_multiply() -> None:
    assert entry("partitions") == {
        "type": "nvidia-tesla-a100",
        "count": 2,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
        "gpuPartitionSize": "1g.5gb",
        "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 3},
    }


@pytest.mark.parametrize(
    ("pool", "strategy", "clients"), [("turns", "TIME_SHARING", 4), ("clients", "MPS", 6)]
)
def test_whole_gpus_are_shared_without_a_partition(pool: str, strategy: str, clients: int) -> None:
    assert entry(pool)["gpuSharingConfig"] == {
        "gpuSharingStrategy": strategy,
        "maxSharedClientsPerGpu": clients,
    }
    assert "gpuPartitionSize" not in entry(pool)


def test_exclusive_gpus_have_neither() -> None:
    assert entry("plain") == {
        "type": "nvidia-l4",
        "count": 2,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
    }


def test_the_operators_pool_gets_nothing_from_gke() -> None:
    assert entry("operator") == {
        "type": "nvidia-l4",
        "count": 1,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
    }


def test_the_two_a100_sizes_are_different_accelerators() -> None:
    forty = one("gke", instanceTypes=["a2-highgpu-1g"])
    eighty = one("gke", instanceTypes=["a2-ultragpu-1g"])
    assert accelerator(forty)["type"] == "nvidia-tesla-a100"
    assert accelerator(eighty)["type"] == "nvidia-a100-80gb"


def test_taints_are_in_gkes_spelling() -> None:
    pool = one("gke", gpu="L4", taints=[{"key": "a", "value": "b", "effect": "PreferNoSchedule"}])
    (made,) = node_pools(pool, "ml", {}).values()
    taints = made["nodeConfig"]["taints"]
    assert taints == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "a", "value": "b", "effect": "PREFER_NO_SCHEDULE"},
    ]


def test_slots_are_what_the_nodes_advertise() -> None:
    served = [pool for name, pool in POOLS.items() if name != "operator"]
    for pool in served:
        made, row = accelerator(pool), pool.machines[0].instance
        assert row is not None
        size = made.get("gpuPartitionSize")
        parts = 1 if size is None else row.gke_partition_sizes[size]
        clients = made.get("gpuSharingConfig", {}).get("maxSharedClientsPerGpu", 1)
        slots = made["count"] * parts * clients
        assert dict(pool.advertised) == {"nvidia.com/gpu": slots}, pool.name


def test_machines_of_other_clouds_have_no_such_arguments() -> None:
    assert [gke_accelerator(pool) for pool in eks().pools] == [None] * len(eks().pools)
