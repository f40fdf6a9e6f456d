"""Packing: 10,000 shares of one type (budget 1 s, 0.1 % above the bound), 1,000 mixed workloads
over 20 machine types (10 s, 1 %), and 50,000 arrivals on a full fleet, scored by fragmentation and
by the usual rules on the same stream. CPU seconds of one process."""

import heapq
import random
import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

from gpufleet.catalogue import MigGeometry, load
from gpufleet.partition.slot_table import slot_table
from gpufleet.planner.packing import Machine, Mode, Packing, Problem, ShareClass, pack
from gpufleet.planner.packing.online import OnlineFleet

GIB = 2**30
PROFILES = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
MIX = dict(zip(PROFILES, (40, 10, 20, 15, 10, 5), strict=True))
NODES, GPUS = 25, 8
ARRIVALS = 50_000
PLOT = Path(__file__).parents[1] / "docs" / "benchmarks" / "online-packing.svg"


def measure() -> list[str]:
    """Rows of the report."""
    rows = ["| problem | CPU seconds | above the bound | method |", "|---|---|---|---|"]
    for seed in (1, 2, 3):
        rows.append(_row(f"10,000 shares, one type ({seed})", one_type(10_000, seed)))
    for seed in (1, 2):
        rows.append(_row(f"1,000 workloads, 20 types ({seed})", mixed(1000, 20, seed)))
    rows += ["", f"{NODES * GPUS} GPUs, {ARRIVALS:,} arrivals, offered load 1.2:", ""]
    rows += [
        "| rule | placed | compute allocated | placements per CPU second |",
        "|---|---|---|---|",
    ]
    curves: dict[str, list[float]] = {}
    for name, rule in RULES.items():
        placed, allocated, rate, curves[name] = stream(rule)
        rows.append(f"| {name} | {placed:.2%} | {allocated:.2%} | {rate:,.0f} |")
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    PLOT.write_text(plot(curves), encoding="utf-8")
    return [*rows, "", f"![compute allocated over time](benchmarks/{PLOT.name})"]


def _row(name: str, problem: Problem) -> str:
    began = time.process_time()
    found: Packing = pack(problem)
    seconds = time.process_time() - began
    return f"| {name} | {seconds:.2f} | {float(found.gap):.3%} | {found.method} |"


def one_type(total: int, seed: int) -> Problem:
    """Shares of six profiles on nodes of eight."""
    chance = random.Random(seed)
    edges = [0, *sorted(chance.randint(0, total) for _ in PROFILES[1:]), total]
    gpu = load().gpu("A100-80GB")
    machine = Machine("p4de", gpu, 8, gpu.memory_bytes, micro_usd_per_hour=27_447_050)
    counts = [high - low for low, high in pairwise(edges)]
    shares = [
        ShareClass(n, count, Mode.MIG, n, path=n) for n, count in zip(PROFILES, counts, strict=True)
    ]
    return Problem({"p4de": machine}, tuple(shares))


def mixed(workloads: int, types: int, seed: int) -> Problem:
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
        i.name: Machine(
            i.name,
            catalogue.gpu(i.accelerator.gpu),
            i.accelerator.count or 1,
            catalogue.device_memory(i),
            micro_usd_per_hour=i.on_demand.micro_usd_per_hour,
        )
        for i in chance.sample(known, types)
    }
    most = max(m.gpus for m in machines.values() if (m.memory_bytes or 0) > 70 * GIB)
    return Problem(machines, tuple(_workload(f"w{n}", chance, most) for n in range(workloads)))


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


# -- online ---------------------------------------------------------------------------------------

Rule = Callable[["Simple", str], tuple[int, int] | None] | None
"""Picks GPU and start; None: the fragmentation score of the package."""


class Simple:
    """A fleet for the usual rules: a list of GPUs, each with cells used and multiset."""

    def __init__(self, geometry: MigGeometry) -> None:
        self.geometry, self.table = geometry, slot_table(geometry)
        self.order = {name: i for i, name in enumerate(geometry.profiles)}
        self.states = [(0, 0)] * (NODES * GPUS)
        self.chance = random.Random(7)
        self.starts = cache(self._starts)
        self.free = cache(self._free)

    def _starts(self, state: tuple[int, int], profile: str) -> tuple[int, ...]:
        number = self.order[profile]
        if state[1] + self.table.unit[number] not in self.table.number:
            return ()
        pairs = zip(self.table.profile_starts[number], self.table.start_masks[number], strict=True)
        return tuple(start for start, cells in pairs if not cells & state[0])

    def _free(self, state: tuple[int, int]) -> tuple[int, int]:
        number = self.table.number[state[1]]
        return (
            self.table.compute_slices - self.table.compute[number],
            self.table.memory_slots - self.table.memory[number],
        )

    def change(self, gpu: int, start: int, profile: str, sign: int) -> None:
        used, present = self.states[gpu]
        number = self.order[profile]
        cells = self.table.mask_of(start, self.geometry.profiles[profile].memory_slots)
        self.states[gpu] = (used ^ cells, present + sign * self.table.unit[number])

    def fitting(self, profile: str) -> list[int]:
        return [i for i, state in enumerate(self.states) if self.starts(state, profile)]


def first_fit(fleet: Simple, profile: str) -> tuple[int, int] | None:
    for gpu, state in enumerate(fleet.states):
        starts = fleet.starts(state, profile)
        if starts:
            return gpu, starts[0]
    return None


def best_fit(fleet: Simple, profile: str) -> tuple[int, int] | None:
    fitting = fleet.fitting(profile)
    if not fitting:
        return None
    gpu = min(fitting, key=lambda i: (sum(fleet.free(fleet.states[i])), i))
    return gpu, fleet.starts(fleet.states[gpu], profile)[0]


def dot_product(fleet: Simple, profile: str) -> tuple[int, int] | None:
    fitting = fleet.fitting(profile)
    if not fitting:
        return None
    wanted = fleet.geometry.profiles[profile]

    def alignment(gpu: int) -> tuple[int, int]:
        compute, memory = fleet.free(fleet.states[gpu])
        return compute * wanted.compute_slices + memory * wanted.memory_slots, -gpu

    gpu = max(fitting, key=alignment)
    return gpu, fleet.starts(fleet.states[gpu], profile)[0]


def at_random(fleet: Simple, profile: str) -> tuple[int, int] | None:
    fitting = fleet.fitting(profile)
    if not fitting:
        return None
    gpu = fleet.chance.choice(fitting)
    return gpu, fleet.chance.choice(fleet.starts(fleet.states[gpu], profile))


RULES: dict[str, Rule] = {
    "fragmentation (ours)": None,
    "best fit": best_fit,
    "first fit": first_fit,
    "dot product": dot_product,
    "random": at_random,
}


def stream(rule: Rule, seed: int = 5) -> tuple[float, float, float, list[float]]:
    """(placed, mean compute allocated, placements per CPU second, allocation over time)."""
    chance = random.Random(seed)
    geometry = load().geometries["A100-80GB"]
    asked = chance.choices(PROFILES, [MIX[p] for p in PROFILES], k=ARRIVALS)
    slices = {name: geometry.profiles[name].compute_slices for name in PROFILES}
    mean = sum(slices[p] * n for p, n in MIX.items()) / sum(MIX.values())
    lifetime = 1.2 * NODES * GPUS * geometry.compute_slices / mean
    stays = [chance.expovariate(1 / lifetime) for _ in asked]
    ours = OnlineFleet(geometry, [GPUS] * NODES, MIX) if rule is None else None
    simple = Simple(geometry)
    leaving: list[tuple[float, int, object]] = []
    placed, used, curve = 0, 0, []
    total = NODES * GPUS * geometry.compute_slices
    began = time.process_time()
    for now, profile in enumerate(asked):
        while leaving and leaving[0][0] <= now:
            _, number, spot = heapq.heappop(leaving)
            used -= slices[asked[number]]
            if ours is not None:
                ours.leave(spot)  # type: ignore[arg-type]
            else:
                simple.change(*spot, asked[number], -1)  # type: ignore[misc]
        spot = ours.arrive(profile) if ours is not None else rule(simple, profile)  # type: ignore[misc]
        if spot is not None:
            if ours is None:
                simple.change(*spot, profile, 1)
            placed += 1
            used += slices[profile]
            heapq.heappush(leaving, (now + stays[now], now, spot))
        if now % 100 == 0:
            curve.append(used / total)
    seconds = time.process_time() - began
    settled = curve[len(curve) // 5 :]
    return placed / ARRIVALS, sum(settled) / len(settled), ARRIVALS / seconds, curve


_COLOURS = ("#0a7d5c", "#1f6feb", "#8250df", "#9a4d00", "#57606a")
_WIDTH, _HEIGHT, _LEFT, _TOP, _LOW = 800, 420, 60, 30, 0.5


def plot(curves: dict[str, list[float]]) -> str:
    """Allocation over arrivals, one line per rule."""
    parts: list[str] = []
    right = _LEFT + _WIDTH
    for tick in range(6):
        value = _LOW + tick * (1 - _LOW) / 5
        y = _height(value)
        parts.append(f'<line x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}" stroke="#d0d7de"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y}" text-anchor="end">{value:.0%}</text>')
    for row, (name, curve) in enumerate(curves.items()):
        # The mean of twenty samples shows the level; single samples only show the stream.
        spans = [curve[max(0, i - 20) : i + 1] for i in range(len(curve))]
        means = [sum(span) / len(span) for span in spans]
        points = " ".join(
            f"{_LEFT + _WIDTH * i / len(means):.1f},{_height(v)}" for i, v in enumerate(means)
        )
        colour = _COLOURS[row]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        y = _TOP + _HEIGHT - 100 + 18 * row
        parts.append(f'<text x="{right - 170}" y="{y}" fill="{colour}">{name}</text>')
    text = f"compute allocated over {ARRIVALS:,} arrivals, {NODES * GPUS} GPUs, offered load 1.2"
    parts.append(f'<text x="{_LEFT}" y="{_TOP + _HEIGHT + 24}">{text}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 20} {_HEIGHT + _TOP + 40}" '
        'font-family="system-ui,sans-serif" font-size="12" role="img">'
        "<title>Compute allocated by placement rule</title>"
        '<rect width="100%" height="100%" fill="#fff"/>' + "".join(parts) + "</svg>\n"
    )


def _height(value: float) -> str:
    return f"{_TOP + _HEIGHT * (1 - (max(value, _LOW) - _LOW) / (1 - _LOW)):.1f}"
