"""Proposals for workloads whose needs are known: each is enough, and little saving is missed.

The oracle below knows the truth and needs no margins. It uses rows of the catalogue (memory, rates,
prices, multiprocessors of slices) and no code under test.
"""

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from gpufleet.catalogue import Gpu, load
from gpufleet.cost.dump import read_series
from gpufleet_planner.planning.offers import Market
from gpufleet_planner.rightsize.advice import Advice, Conclusion, advise
from gpufleet_planner.rightsize.usage import workloads
from tests.examples import ALL, has_changed
from tests.planner.rightsize.samples import Truth, answer
from tests.planner.rightsize.test_advice import LIMITS

CATALOGUE = load()
REGION = "us-east-1"
GPUS = {
    "NVIDIA A100-SXM4-80GB": ("A100-80GB", 75),
    "NVIDIA A100-SXM4-40GB": ("A100-40GB", 37),
    "NVIDIA H100 80GB HBM3": ("H100-80GB", 75),
    "NVIDIA A10G": ("A10G", 21),
    "NVIDIA L4": ("L4", 21),
    "NVIDIA L40S": ("L40S", 42),
    "Tesla T4": ("T4", 14),
}
CLIENTS = (2, 3, 4, 6, 8, 12, 16)


def truths(seed: int, count: int) -> list[Truth]:
    rng = random.Random(seed)
    found: list[Truth] = []
    for number in range(count):
        model = rng.choice(sorted(GPUS))
        idle = rng.random() < 0.15
        devices = rng.choice((1, 1, 1, 2, 4))
        found.append(
            Truth(
                f"w{number}",
                model,
                peak_gib=0.4 if idle else round(rng.uniform(1, GPUS[model][1]), 1),
                compute=0.0 if idle else round(rng.uniform(0.02, 0.9), 2),
                bandwidth=0.0 if idle else round(rng.uniform(0.02, 0.5), 2),
                devices=devices,
                working=rng.randint(1, devices),
                pods=rng.choice((1, 1, 2)),
            )
        )
    return found


def shares_of(gpu: Gpu) -> Iterator[tuple[Fraction, int, Fraction, Fraction]]:
    """Part of the price, bytes, part of compute and of bandwidth of each share of a GPU."""
    assert gpu.memory_bytes is not None
    yield Fraction(1), gpu.memory_bytes, Fraction(1), Fraction(1)
    for count in CLIENTS if gpu.compute_capability and gpu.compute_capability >= (7, 0) else ():
        if count <= gpu.mps_max_clients:
            even = Fraction(1, count)
            yield even, gpu.memory_bytes // count, even, even
    for profile in gpu.mig.profiles.values() if gpu.mig else ():
        assert gpu.mig is not None
        if profile.usable_bytes is None or profile.attributes:
            continue
        compute = Fraction(profile.compute_slices, gpu.mig.compute_slices)
        memory = Fraction(profile.memory_slots, gpu.mig.memory_slots)
        yield max(compute, memory), profile.usable_bytes, compute, memory


def enough(truth: Truth, gpu: Gpu, memory: int, compute: Fraction, traffic: Fraction) -> bool:
    """Whether a share of the GPU does what the workload really needs."""
    old = CATALOGUE.gpus[GPUS[truth.model][0]]
    if truth.peak_gib * 2**30 > memory:
        return False
    mine, theirs = next(iter(old.rates.values())), next(iter(gpu.rates.values()), None)
    if theirs is None or not mine.memory_bandwidth or not theirs.memory_bandwidth:
        return False
    formats = [
        (getattr(mine, name), getattr(theirs, name))
        for name in ("tf32", "bf16", "fp16", "fp8", "int8", "fp4")
        if getattr(mine, name) is not None
    ]
    if any(there is None for _, there in formats):
        return False
    slower = max(Fraction(here, there) for here, there in formats)
    less = Fraction(mine.memory_bandwidth, theirs.memory_bandwidth)
    if max(slower / compute, less / traffic) > 2:  # the bound of `--max-slowdown`
        return False
    return truth.compute * slower <= compute and truth.bandwidth * less <= traffic


def per_gpu(gpu: Gpu, at_least: int) -> float | None:
    """List price of one GPU of the cheapest machine with this number."""
    priced = [
        row.price("onDemand").micro_usd_per_hour / row.accelerator.count
        for row in CATALOGUE.instances_with_gpu(gpu.key, "aws")
        if (row.accelerator.count or 0) >= at_least
        and row.architecture != "arm64"
        and row.price("onDemand").micro_usd_per_hour is not None
        and "onDemand" in row.purchase_options
    ]
    return min(priced, default=None)


def attainable(truth: Truth) -> tuple[float, float]:
    """Present and minimum cost of the workload, per hour."""
    old = per_gpu(CATALOGUE.gpus[GPUS[truth.model][0]], truth.devices)
    assert old is not None
    now = old * truth.devices * truth.pods
    if truth.compute == 0.0:
        return now, 0.0
    found = [now]
    for gpu in CATALOGUE.gpus.values():
        price = per_gpu(gpu, truth.working) if gpu.memory_bytes else None
        for part, memory, compute, traffic in shares_of(gpu) if price else ():
            if truth.working > 1 and part != 1:
                continue
            if enough(truth, gpu, memory, compute, traffic):
                assert price is not None
                found.append(price * float(part) * truth.working * truth.pods)
    return now, min(found)


def advice(all_truths: list[Truth], seed: int) -> dict[str, Advice]:
    market = Market(("eks",), REGION)
    found = [
        advise(one, market, CATALOGUE, **LIMITS)
        for one in workloads(read_series(answer(all_truths, seed)))
    ]
    return {one.workload.name: one for one in found}


SEEDS = 6 if ALL or has_changed("rightsize/*.py") else 2


def test_each_proposal_is_enough_and_nine_tenths_of_the_saving_are_found() -> None:
    possible = reached = 0.0
    proposals = 0
    for seed in range(SEEDS):
        all_truths = truths(seed, 40)
        found = advice(all_truths, seed)
        for truth in all_truths:
            one = found[truth.name]
            now, least = attainable(truth)
            assert one.micro_usd == pytest.approx(now), truth
            possible += now - least
            reached += one.saving_micro_usd or 0.0
            if one.proposal is None:
                assert one.verdict in {Conclusion.IDLE, Conclusion.FITS}, (truth, one.reason)
                assert (one.verdict is Conclusion.IDLE) is (truth.compute == 0), truth
                continue
            proposals += 1
            device = one.proposal.share
            even = Fraction(1, one.proposal.share.replicas)
            parts = (even, even) if even < 1 else (device.compute_share, device.bandwidth_share)
            assert enough(truth, device.gpu, device.usable_bytes, *parts), (truth, device.label)
            assert one.proposal.devices_each == truth.working
            assert one.proposal.pods == truth.pods
    assert proposals > 16 * SEEDS
    assert reached >= 0.9 * possible, f"{reached / possible:.1%} of {possible / 1e6:.2f} USD/h"
