"""N1 machines with attached GPUs: the price of both together, or none."""

from decimal import Decimal
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.fleet import Unbounded
from gpufleet.platforms.compiled import Compiled, compile_data


def fleet(region: str, machine: str, gpus: int = 1, gpu: str = "T4", **head: Any) -> Compiled:
    pool = {
        "name": "chat",
        "gpu": gpu,
        "gpusPerNode": gpus,
        "instanceTypes": [machine],
        "nodes": {"min": 1, "max": 2},
    }
    cluster = {"name": "ml", "region": region}
    data = {"catalogue": "2026.11", "platform": "gke", "cluster": cluster, "pools": [pool]}
    return compile_data({**data, **head})


def usd(result: Compiled) -> Decimal | None:
    assert result.fleet is not None
    spent = result.fleet.spend.maximum
    return None if isinstance(spent, Unbounded) else Decimal(spent) / 1_000_000


@pytest.mark.parametrize(
    ("machine", "gpus", "gpu", "hour"),
    [
        # Google's us-central1: T4 0.35, V100 2.48, P100 1.46, P4 0.60; n1-standard-8 0.379998.
        ("n1-standard-8", 1, "T4", "0.729998"),
        ("n1-standard-16", 2, "T4", "1.459996"),
        ("n1-standard-8", 1, "V100-16GB", "2.859998"),
        ("n1-standard-4", 1, "P100", "1.649999"),
        ("n1-standard-8", 4, "P4", "2.779998"),
    ],
)
def test_the_price_is_that_of_gpus_and_machine(
    machine: str, gpus: int, gpu: str, hour: str
) -> None:
    assert usd(fleet("us-central1", machine, gpus, gpu)) == 2 * Decimal(hour)


def test_a_machine_or_region_without_a_price_is_not_known() -> None:
    assert usd(fleet("us-central1", "n1-highmem-8", environment="prod")) is None
    strict = fleet("europe-west4", "n1-standard-8", environment="prod")
    assert usd(strict) is None
    assert "price-unknown-in-region" in {found.code for found in strict.findings}
    estimate = fleet("europe-west4", "n1-standard-8", environment="prod", prices="estimate")
    assert usd(estimate) == 2 * Decimal("0.729998")
    assert "price-of-other-region" in {found.code for found in estimate.findings}


def test_prices_of_attached_gpus_by_region() -> None:
    """One GPU costs a fourth of four; every type has its own regions."""
    table = load().attached
    regions = {what: set(prices) for (what, buy), (prices, _) in table.items() if buy == "onDemand"}
    assert {what: len(names) for what, names in regions.items()} == {
        "nvidia-tesla-t4": 23, "nvidia-tesla-v100": 5, "nvidia-tesla-p100": 7,
        "nvidia-tesla-p4": 7, "n1-standard-8": 1,
    }  # fmt: skip
    for (what, buy), (prices, _) in table.items():
        if buy == "spot":
            whole, _ = table[what, "onDemand"]
            assert all(prices[region] < whole[region] for region in prices)
