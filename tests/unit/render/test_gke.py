from typing import Any

import pytest

from gpufleet.documents.writing import yaml_stream
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.addresses import GkeAccelerator, gke_accelerator, node_pool_arguments
from tests.unit.render.fleets import eks, gke, one
from tests.unit.render.golden_files import assert_golden

POOLS = {pool.name: pool for pool in gke().pools}


def accelerator(pool: Pool) -> GkeAccelerator:
    found = gke_accelerator(pool)
    assert found is not None
    return found


def entry(name: str) -> dict[str, Any]:
    arguments = node_pool_arguments(POOLS[name], accelerator(POOLS[name]))
    entries = arguments["nodeConfig"]["guestAccelerators"]
    assert len(entries) == 1
    return entries[0]


def test_golden_file() -> None:
    documents = [node_pool_arguments(pool, accelerator(pool)) for pool in POOLS.values()]
    assert_golden("gke-node-pools.yaml", yaml_stream(documents))


def test_partition_and_time_sharing_multiply() -> None:
    assert entry("partitions") == {
        "type": "nvidia-tesla-a100",
        "count": 2,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
        "gpuPartitionSize": "1g.5gb",
        "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 3},
    }
    assert accelerator(POOLS["partitions"]).slots == 2 * 7 * 3


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
    assert accelerator(forty).type == "nvidia-tesla-a100"
    assert accelerator(eighty).type == "nvidia-a100-80gb"


def test_taints_are_in_gkes_spelling() -> None:
    pool = one("gke", gpu="L4", taints=[{"key": "a", "value": "b", "effect": "PreferNoSchedule"}])
    taints = node_pool_arguments(pool, accelerator(pool))["nodeConfig"]["taints"]
    assert taints == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "a", "value": "b", "effect": "PREFER_NO_SCHEDULE"},
    ]


def test_slots_are_what_the_nodes_advertise() -> None:
    served = [pool for name, pool in POOLS.items() if name != "operator"]
    for pool in served:
        assert dict(pool.advertised) == {"nvidia.com/gpu": accelerator(pool).slots}, pool.name


def test_machines_of_other_clouds_have_no_such_arguments() -> None:
    assert [gke_accelerator(pool) for pool in eks().pools] == [None] * len(eks().pools)
