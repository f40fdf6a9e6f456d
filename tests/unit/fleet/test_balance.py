"""Resources of machines per GPU, and training machines that have less than needed."""

from typing import Any

import pytest

from gpufleet.findings import Finding, Severity
from gpufleet.fleet import Pool
from gpufleet.fleet.balance import LEAST_CORES, LEAST_MEMORY, host_share
from gpufleet.platforms.compiled import compile_data


def compiled(pool: dict[str, Any], platform: str = "vsphere") -> tuple[Pool, list[Finding]]:
    region = {"eks": {"region": "us-east-1"}, "gke": {"region": "us-central1"}}.get(platform, {})
    declared = {"name": "p", "intent": "training", "nodes": {"min": 1, "max": 1}, **pool}
    spec = {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "c", **region},
        "pools": [declared],
    }
    result = compile_data(spec)
    assert result.fleet is not None, result.findings
    return result.fleet.pools[0], [f for f in result.findings if f.code.startswith("balance")]


def own(cpus: int, memory: int, gpus: int = 4, gpu: str = "H100-80GB", **more: Any) -> Any:
    machine = {"cpus": cpus, "memoryGib": memory, "template": "t"}
    return {"gpu": gpu, "gpusPerNode": gpus, "vsphere": machine, **more}


def test_needs_are_those_that_are_published() -> None:
    """NVIDIA AI Enterprise reference architecture, H200 NVL systems."""
    assert (LEAST_CORES, LEAST_MEMORY) == (7, 128 * 10**9)


@pytest.mark.parametrize(
    ("machine", "platform", "words"),
    [
        # AWS: 192 vCPU, 2048 GiB, eight disks of 3.84 TB, 3200 Gb/s, for 8 GPUs.
        ("p5.48xlarge", "eks", "24 vCPU, 256 GiB, 3.8 TB local, 400 Gb/s"),
        # Google: 208 vCPU, 1872 GB, 6 TB, for 8 GPUs.
        ("a3-highgpu-8g", "gke", "26 vCPU"),
    ],
)
def test_numbers_of_machines_of_the_clouds(machine: str, platform: str, words: str) -> None:
    pool, found = compiled({"instanceTypes": [machine]}, platform)
    assert host_share(pool.machines[0]).in_words().startswith(words)
    assert found == []


def test_a_virtual_cpu_is_half_a_core_or_one() -> None:
    amd, _ = compiled({"instanceTypes": ["p5.48xlarge"]}, "eks")
    share = host_share(amd.machines[0])
    assert share.most_cores == 12
    arm, _ = compiled({"instanceTypes": ["p6e-gb200.36xlarge"]}, "eks")
    share = host_share(arm.machines[0])
    assert share.most_cores == share.vcpus
    mine, _ = compiled(own(40, 1024))
    share = host_share(mine.machines[0])
    assert share.most_cores == 10


@pytest.mark.parametrize(
    ("pool", "codes"),
    [
        (own(28, 512), []),
        # 26 CPUs of 4 GPUs are below 7 for each, whatever a CPU is; 512 GiB are 137 GB each.
        (own(26, 512), ["balance-cores-low"]),
        (own(28, 448), ["balance-memory-low"]),
        (own(26, 448), ["balance-cores-low", "balance-memory-low"]),
        # Needs of older GPUs are not published, and inference loads no data.
        (own(8, 64, gpu="A100-80GB"), []),
        (own(8, 64, intent="inference"), []),
    ],
    ids=str,
)
def test_training_machines_with_less_than_is_needed(pool: Any, codes: list[str]) -> None:
    _, found = compiled(pool)
    assert [f.code for f in found] == codes
    for one in found:
        assert one.severity is Severity.WARNING
        assert one.evidence["value"] < one.evidence["limit"]
