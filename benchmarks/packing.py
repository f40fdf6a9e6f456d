"""Packing: 10,000 shares of one type (budget 1 s, 0.1 % above the bound) and 1,000 mixed workloads
over 20 machine types (10 s, 1 %), with the solver and without. CPU seconds of one process."""

import random
import time
from itertools import pairwise

from gpufleet.catalogue import load
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import (
    Mode,
    Packing,
    PackingMachine,
    PackingProblem,
    ShareClass,
)

GIB = 2**30
PROFILES = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")


def measure() -> list[str]:
    """Rows of the report."""
    rows = ["| problem | CPU seconds | above the bound | method |", "|---|---|---|---|"]
    pack(one_type(10, 1))  # the first packing imports the solver
    for solver in (True, False):
        for seed in (1, 2, 3):
            problem = one_type(10_000, seed)
            rows.append(_row(f"10,000 shares, one type ({seed})", problem, solver))
        for seed in (1, 2):
            problem = mixed(1000, 20, seed)
            rows.append(_row(f"1,000 workloads, 20 types ({seed})", problem, solver))
    return rows


def _row(name: str, problem: PackingProblem, solver: bool) -> str:
    began = time.process_time()
    packing: Packing = pack(problem, solver=solver)
    seconds = time.process_time() - began
    return f"| {name} | {seconds:.2f} | {float(packing.gap):.3%} | {packing.method} |"


def one_type(total: int, seed: int) -> PackingProblem:
    """Shares of six profiles on nodes of eight."""
    chance = random.Random(seed)
    edges = [0, *sorted(chance.randint(0, total) for _ in PROFILES[1:]), total]
    gpu = load().gpu("A100-80GB")
    machine = PackingMachine("p4de", gpu, 8, gpu.memory_bytes, micro_usd_per_hour=27_447_050)
    counts = [high - low for low, high in pairwise(edges)]
    shares = [
        ShareClass(n, count, Mode.MIG, n, path=n) for n, count in zip(PROFILES, counts, strict=True)
    ]
    return PackingProblem({"p4de": machine}, tuple(shares))


def mixed(workloads: int, types: int, seed: int) -> PackingProblem:
    """Slices by memory, whole GPUs, MPS and time-sliced shares over machine types with a price."""
    chance, catalogue = random.Random(seed), load()
    known = [
        i
        for i in catalogue.instances.values()
        if i.accelerator.count
        and i.on_demand.micro_usd_per_hour
        and not i.fractional
        and catalogue.gpu(i.accelerator.gpu).vendor == "nvidia"
        and catalogue.gpu(i.accelerator.gpu).memory_bytes
    ]
    machines = {
        i.name: PackingMachine(
            i.name,
            catalogue.gpu(i.accelerator.gpu),
            i.accelerator.count or 1,
            catalogue.device_memory(i),
            micro_usd_per_hour=i.on_demand.micro_usd_per_hour,
        )
        for i in chance.sample(known, types)
    }
    most = max(m.gpus for m in machines.values() if (m.memory_bytes or 0) > 70 * GIB)
    return PackingProblem(
        machines, tuple(_workload(f"w{n}", chance, most) for n in range(workloads))
    )


def _workload(name: str, chance: random.Random, most: int) -> ShareClass:
    kind, count = chance.random(), chance.randint(1, 8)
    if kind < 0.5:
        memory = chance.randint(2, 70) * GIB
        return ShareClass(name, count, None, memory_bytes=memory, path=name)
    if kind < 0.7:
        gpus = min(most, chance.choice((1, 1, 2, 4, 8)))
        memory = chance.choice((0, 20, 40, 70)) * GIB
        return ShareClass(name, count, Mode.WHOLE, gpus=gpus, memory_bytes=memory, path=name)
    mode = Mode.MPS if kind < 0.85 else Mode.TIME_SLICING
    memory = chance.randint(1, 10) * GIB
    replicas = chance.choice((2, 4, 8))
    return ShareClass(name, count, mode, memory_bytes=memory, replicas=replicas, path=name)
