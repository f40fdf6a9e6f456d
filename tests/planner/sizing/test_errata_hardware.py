"""Wrong statements of common texts about GPUs, slices, shares and prices, compared with the
catalogue and the arithmetic. Numbers are those of the list of errata; models and memory are in
test_errata.py, HPA fields (21) in the tests of policies."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.findings import Finding
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.sizing.communication import nvlink, pcie
from gpufleet_planner.sizing.device import Device, mps_share, time_slice, whole_gpu

CATALOGUE = load()
GPUS = CATALOGUE.gpus
MIB = 1 << 20


def device(key: str) -> Device:
    found = whole_gpu(CATALOGUE.find_gpu(key))
    assert isinstance(found, Device)
    return found


def usd(name: str) -> Decimal:
    micro = CATALOGUE.instances[name].on_demand.micro_usd_per_hour
    assert micro is not None
    return Decimal(micro) / 1_000_000


def places(key: str, devices: dict[str, int]) -> bool:
    geometry = GPUS[key].mig
    assert geometry is not None
    return isinstance(place(geometry, devices), MigPlacement)


def test_6_dense_operations_per_dollar_at_the_texts_own_prices() -> None:
    prices = {"H100-80GB": 3.00, "L40S": 1.40, "H200-141GB": 4.50, "A100-80GB": 1.80, "L4": 0.70}
    found = {
        key: (device(key).rates.bf16 or 0) / 1e12 / price  # type: ignore[union-attr]
        for key, price in prices.items()
    }
    assert sorted(found, key=found.__getitem__, reverse=True) == list(prices)
    assert found == pytest.approx(
        {"H100-80GB": 330, "L40S": 259, "H200-141GB": 220, "A100-80GB": 173, "L4": 173}, rel=0.02
    )


def test_7_only_the_80_gb_a100_reads_two_terabytes_a_second() -> None:
    assert GPUS["A100-80GB"].rates["sxm"].memory_bandwidth == 2039 * 10**9
    assert GPUS["A100-40GB"].rates["sxm"].memory_bandwidth == 1555 * 10**9


def test_8_nvlink_and_pcie_like_for_like_are_450_against_64() -> None:
    hopper = GPUS["H100-80GB"]
    link = nvlink(hopper, "sxm")
    assert link is not None
    assert hopper.rates["sxm"].nvlink_bytes_per_second == 900 * 10**9
    assert link.bytes_per_second / 0.88 == pytest.approx(450e9)
    assert pcie(hopper).bytes_per_second / 0.75 == pytest.approx(64e9)


def test_13_list_prices_per_gpu() -> None:
    assert usd("p5.48xlarge") / 8 == Decimal("6.88")
    assert round(usd("p4de.24xlarge") / 8, 2) == Decimal("3.43")
    assert round(usd("p5en.48xlarge") / 8, 2) == Decimal("7.91")
    assert round(usd("g6.xlarge"), 2) == Decimal("0.80")
    assert round(usd("g6e.xlarge"), 2) == Decimal("1.86")


def test_14_there_is_no_p5_24xlarge() -> None:
    assert "p5.24xlarge" not in CATALOGUE.instances
    assert CATALOGUE.instances["p5.48xlarge"].accelerator.count == 8
    assert CATALOGUE.instances["p5.4xlarge"].accelerator.count == 1


def test_15_and_22_profiles_of_the_h200() -> None:
    mig = GPUS["H200-141GB"].mig
    assert mig is not None
    assert {"3g.71gb", "4g.71gb", "2g.35gb"} <= set(mig.profiles)
    assert not {"3g.70gb", "4g.70gb", "2g.25gb"} & set(mig.profiles)
    assert mig.profiles["2g.35gb"].max_instances == 3
    assert mig.profiles["1g.18gb+me"].max_instances == 1
    assert mig.profiles["1g.18gb+me"].resource.endswith("mig-1g.18gb.me")


def test_16_ampere_alone_does_not_mean_mig() -> None:
    with_mig = {key for key, gpu in GPUS.items() if gpu.has_mig}
    assert {"A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB", "H200-141GB"} <= with_mig
    assert {"B200-180GB", "RTX-PRO-6000-BLACKWELL-96GB"} <= with_mig
    assert not {"A10", "A10G", "L4", "L40S", "T4"} & with_mig


def test_17_and_20_mps_is_for_volta_and_newer() -> None:
    for key in ("T4", "A10G", "L4", "A100-80GB", "H100-80GB"):
        assert GPUS[key].mps_max_clients >= 48
    assert GPUS["P100"].mps_max_clients == 16
    old = mps_share(replace(device("T4"), gpu=GPUS["P100"]), 4)
    assert isinstance(old, Finding)
    assert old.code == "mps-not-isolated"


def test_23_to_25_profiles_of_the_a100s() -> None:
    large, small = GPUS["A100-80GB"].mig, GPUS["A100-40GB"].mig
    assert large is not None
    assert small is not None
    assert "1g.40gb" not in large.profiles
    assert "7g.80gb" in large.profiles
    assert "4g.20gb" not in large.profiles
    assert small.profiles["4g.20gb"].max_instances == 1
    assert large.profiles["1g.20gb"].max_instances == 4
    assert small.profiles["1g.10gb"].max_instances == 4


def test_26_only_the_a30_has_2g_12gb() -> None:
    with_it = [key for key, gpu in GPUS.items() if gpu.mig and "2g.12gb" in gpu.mig.profiles]
    assert with_it == ["A30-24GB"]


def test_27_and_29_an_mps_share_is_a_limit_of_whole_mebibytes() -> None:
    whole = device("A100-80GB")
    share = mps_share(whole, 48)
    assert isinstance(share, Device)
    # Of what the driver reports, which is more than CUDA gives a process.
    assert share.usable_bytes == 81_920 // 48 * MIB
    assert share.grant.is_enforced
    too_many = mps_share(whole, GPUS["A100-80GB"].mps_max_clients + 1)
    assert isinstance(too_many, Finding)
    assert too_many.code == "mps-replicas-out-of-range"


def test_19_and_28_turns_and_clients_share_the_whole_board() -> None:
    turn = time_slice(device("L4"), 4)
    assert isinstance(turn, Device)
    assert not turn.grant.is_enforced
    assert turn.compute_share == Fraction(1, 4) / Fraction(111, 100)


def test_the_balanced_layout_and_its_counts_are_right() -> None:
    balanced = {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}
    assert places("A100-80GB", balanced)
    assert places("H200-141GB", {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1})
    assert [8 * count for count in balanced.values()] == [16, 8, 8]
    most = {
        name: GPUS["A100-80GB"].mig.profiles[name].max_instances
        for name in ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb")  # type: ignore[union-attr]
    }
    assert [8 * count for count in most.values()] == [56, 24, 16, 8]
    assert not places("A100-80GB", {"3g.40gb": 3})


def test_an_ambiguous_gpu_is_asked_back() -> None:
    with pytest.raises(UnknownKeyError, match=r"A100-40GB or A100-80GB"):
        CATALOGUE.find_gpu("A100")
