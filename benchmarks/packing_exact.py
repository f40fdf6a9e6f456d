"""The packer against trying everything, on 2,000 small instances: 1,000 of MIG shares on one
machine type, 1,000 over three machine types with prices, node limits and an existing
node. The suite checks fresh ones in each run."""

import random
import time
from collections import Counter

from gpufleet.catalogue import load
from gpufleet.partition.placement import PlacedInstance
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import (
    ExistingNode,
    GpuState,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.verify import verify
from tests.property.exhaustive_packing import cheapest, fewest_gpus

INSTANCES = 1000
PROFILES = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
GIB = 2**30


def measure() -> list[str]:
    """Rows of the report. Raises AssertionError on the first packing that is not the best."""
    rows = ["| instances | as good as trying everything | CPU seconds, packing |", "|---|---|---|"]
    for name, seed, one in (("one machine type", 11, one_type), ("three machine types", 12, mixed)):
        chance = random.Random(seed)
        spent = sum(one(chance) for _ in range(INSTANCES))
        rows.append(f"| {INSTANCES:,}, {name} | {INSTANCES:,} | {spent:.1f} |")
    return rows


def one_type(chance: random.Random) -> float:
    """One instance of MIG shares on one machine type; CPU seconds of the packing."""
    shares = tuple(chance.choices(PROFILES, k=chance.randint(1, 9)))
    per_node = chance.randint(1, 4)
    problem = PackingProblem(
        {"m": _machine("m", "A100-80GB", per_node, 3_000_000)},
        tuple(ShareClass(p, n, Mode.MIG, p, path=p) for p, n in Counter(shares).items()),
    )
    began = time.process_time()
    found = pack(problem)
    spent = time.process_time() - began
    least = -(-fewest_gpus("A100-80GB", shares) // per_node)
    assert found.cost == found.lower_bound == least * 3_000_000, problem
    return spent


def mixed(chance: random.Random) -> float:
    """One instance over three machine types; CPU seconds of the packing."""
    problem = _mixed_problem(chance)
    began = time.process_time()
    found = pack(problem)
    spent = time.process_time() - began
    least = cheapest(problem)
    assert verify(problem, found) == (), problem
    assert found.complete == (least is not None), problem
    if least is not None:
        assert found.cost == least, problem
        assert found.lower_bound <= least, problem
    return spent


def _machine(name: str, key: str, gpus: int, price: int, most: int | None = None) -> PackingMachine:
    gpu = load().gpu(key)
    return PackingMachine(
        name, gpu, gpus, gpu.memory_bytes, micro_usd_per_hour=price, max_nodes=most
    )


def _mixed_problem(chance: random.Random) -> PackingProblem:
    machines = (
        _machine("a", "A30-24GB", chance.randint(1, 2), chance.choice((2, 3)) * 10**6),
        _machine("b", "A100-80GB", 1, chance.choice((4, 5, 7)) * 10**6, chance.choice((None, 1))),
        _machine("c", "L4", 2, 10**6, chance.choice((None, 0, 1))),
    )
    kinds = (
        ShareClass("x", chance.randint(0, 3), Mode.MIG, "1g.6gb", path="x"),
        ShareClass("y", chance.randint(0, 2), Mode.MIG, "2g.20gb", path="y"),
        ShareClass("z", chance.randint(0, 2), Mode.MIG, memory_bytes=9 * GIB, path="z"),
        ShareClass("w", chance.randint(0, 1), Mode.WHOLE, gpus=2, path="w"),
        ShareClass("v", chance.randint(0, 1), Mode.WHOLE, path="v"),
        ShareClass("s", chance.randint(0, 3), Mode.MPS, replicas=2, path="s"),
    )
    shares = tuple(chance.sample(kinds, chance.randint(1, 3)))
    existing: tuple[ExistingNode, ...] = ()
    if chance.random() < 0.5:
        there = PlacedInstance("1g.6gb", chance.choice((0, 1, 3)), 1, 1)
        gpus = (GpuState((there,), mig=True), GpuState())[: machines[0].gpus]
        existing = (ExistingNode("old", "a", gpus, "old"),)
    return PackingProblem({m.name: m for m in machines}, shares, existing)
