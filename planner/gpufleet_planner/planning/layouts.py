"""Slices onto GPUs onto equal nodes: what each node of a MIG pool is cut into."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from math import ceil

from gpufleet.catalogue import Gpu
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.packing import highs
from gpufleet_planner.packing.patterns import maximal_patterns

MAXIMUM_STRANDED = 1
"""Compute slices of a GPU that a layout may strand where one with more saves no node: the policies
advise against one and refuse more."""
_Devices = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """What every node of a pool is cut into."""

    nodes: int
    gpus: tuple[tuple[Mapping[str, int], int], ...]
    """Devices of a GPU, and on how many GPUs of each node; GPUs left over stay whole."""
    asked: Mapping[str, int]
    """Slices that the nodes are for."""
    offered: Mapping[str, int]
    """Slices of all nodes together."""
    bound: int
    """GPUs that the slices need at least, by compute and memory volume."""
    stranded: int = 0
    """Compute slices of all nodes that no instance can use."""
    before: Mapping[str, int] = field(default_factory=dict[str, int])
    """Slices of the same profiles that earlier pools are for."""

    @property
    def gpus_cut(self) -> int:
        """GPUs of all nodes that are cut."""
        return self.nodes * sum(count for _, count in self.gpus)


def lay_out_pools(
    gpu: Gpu, wanted: Mapping[str, int], gpus_per_node: int
) -> tuple[NodeLayout, ...]:
    """Pools for these slices: one, or several of which each serves some of the profiles, where that
    takes fewer nodes. From one pool for each profile, pools are joined while no node is added."""
    return _pools(gpu, tuple(sorted(wanted.items())), gpus_per_node)


@lru_cache(maxsize=4096)
def _fewest(gpu: Gpu, wanted: _Devices, gpus_per_node: int) -> tuple[NodeLayout, ...]:
    alike = _pools(gpu, wanted, gpus_per_node)
    bound = ceil(volume_bound(gpu, dict(wanted)) / gpus_per_node)
    if sum(pool.nodes for pool in alike) == bound or not highs.available():
        return alike
    patterns = _fewest_patterns(gpu, dict(wanted))
    if ceil(len(patterns) / gpus_per_node) >= sum(pool.nodes for pool in alike):
        return alike
    starts = range(0, len(patterns), gpus_per_node)
    nodes = Counter(tuple(patterns[start : start + gpus_per_node]) for start in starts)
    left, before = dict(wanted), dict[str, int]()
    pools: list[NodeLayout] = []
    for node, count in nodes.items():
        cut = Counter(_completed(gpu, devices) for devices in node)
        offered = {
            name: count * sum(dict(d).get(name, 0) * n for d, n in cut.items())
            for name in dict.fromkeys(name for devices in cut for name, _ in devices)
        }
        asked = {name: n for name in offered if (n := min(left.get(name, 0), offered[name]))}
        pools.append(
            NodeLayout(
                count,
                tuple((dict(devices), number) for devices, number in cut.items()),
                asked,
                offered,
                volume_bound(gpu, asked),
                count * _lost(gpu, cut),
                {name: before.get(name, 0) for name in asked},
            )
        )
        for name, taken in asked.items():
            left[name] -= taken
            before[name] = before.get(name, 0) + taken
    return tuple(pool for pool in pools if pool.asked)


def lay_out_fewest(
    gpu: Gpu, wanted: Mapping[str, int], gpus_per_node: int
) -> tuple[NodeLayout, ...]:
    """Pools of fewest nodes: those of `lay_out_pools`, or where the integer program needs fewer
    nodes, one for each layout of a node; slices of one profile may then be in several pools."""
    return _fewest(gpu, tuple(sorted(wanted.items())), gpus_per_node)


def _fewest_patterns(gpu: Gpu, wanted: Mapping[str, int]) -> list[_Devices]:
    """Layouts of the fewest GPUs that hold these slices, equal ones next to each other."""
    assert gpu.mig is not None
    patterns = maximal_patterns(gpu.mig, wanted)
    program = highs.IntegerProgram()
    columns = [program.column(1) for _ in patterns]
    for name, count in wanted.items():
        held = {c: n for c, p in zip(columns, patterns, strict=True) if (n := dict(p).get(name))}
        program.row(held, lower=count)
    solved = highs.solve(program)
    found: list[_Devices] = []
    for devices, value in zip(patterns, solved.values, strict=True):
        found += [devices] * round(value)
    return found


@lru_cache(maxsize=4096)
def _pools(gpu: Gpu, wanted: _Devices, gpus_per_node: int) -> tuple[NodeLayout, ...]:
    alone = lay_out_nodes(gpu, dict(wanted), gpus_per_node)
    if alone is not None and alone.nodes == ceil(alone.bound / gpus_per_node):
        return (alone,)
    pools = [
        layout
        for name, count in wanted
        if (layout := lay_out_nodes(gpu, {name: count}, gpus_per_node)) is not None
    ]
    while joined := _joined(gpu, pools, gpus_per_node):
        pools = joined
    if alone is not None and alone.nodes <= sum(layout.nodes for layout in pools):
        return (alone,)
    return tuple(pools)


def _joined(gpu: Gpu, pools: list[NodeLayout], gpus_per_node: int) -> list[NodeLayout] | None:
    """The pools with those two joined that saves most; None where each pair adds a node."""
    best: tuple[int, list[NodeLayout]] | None = None
    for one, other in combinations(pools, 2):
        both = lay_out_nodes(gpu, {**one.asked, **other.asked}, gpus_per_node)
        saved = -1 if both is None else one.nodes + other.nodes - both.nodes
        if both is not None and saved >= 0 and (best is None or saved > best[0]):
            best = saved, [both, *(pool for pool in pools if pool not in (one, other))]
    return None if best is None else best[1]


def lay_out_nodes(gpu: Gpu, wanted: Mapping[str, int], gpus_per_node: int) -> NodeLayout | None:
    """Nodes for these slices, all alike, each GPU filled as far as it goes.

    GPUs are filled one after the other with the legal layout that leaves least of the demand's
    volume; equal ones are then spread evenly over the nodes. Where a node has fewer GPUs than there
    are layouts, all GPUs get one. None when no one layout holds all profiles. Deterministic.
    """
    assert gpu.mig is not None

    def cost(found: Mapping[_Devices, int]) -> tuple[bool, int, int, int, int]:
        gpus = sum(found.values())
        nodes = ceil(gpus / gpus_per_node)
        return len(found) > gpus_per_node, nodes, _lost(gpu, found), gpus, len(found)

    ways = product((True, False), (MAXIMUM_STRANDED, gpu.mig.compute_slices))
    found = [_fill_gpus(gpu, wanted, *way) for way in ways]
    patterns = min((*found, _one_profile_each(gpu, wanted)), key=cost)
    if len(patterns) > gpus_per_node:
        devices = _uniform(gpu, tuple(sorted(wanted.items())))
        if devices is None:
            return None
        needed = max(ceil(wanted[name] / count) for name, count in devices)
        nodes, each = ceil(needed / gpus_per_node), {devices: gpus_per_node}
    else:
        nodes = ceil(sum(patterns.values()) / gpus_per_node)
        each = _spread(patterns, nodes)
        # With one node for each GPU of the largest layout every count is 1: this ends.
        while sum(each.values()) > gpus_per_node:
            nodes += 1
            each = _spread(patterns, nodes)
    completed: dict[_Devices, int] = defaultdict(int)
    for devices, count in each.items():
        completed[_completed(gpu, devices)] += count
    offered: dict[str, int] = defaultdict(int)
    for devices, count in completed.items():
        for profile, number in devices:
            offered[profile] += number * count * nodes
    return NodeLayout(
        nodes,
        tuple((dict(devices), count) for devices, count in completed.items()),
        dict(wanted),
        dict(offered),
        volume_bound(gpu, wanted),
        nodes * _lost(gpu, completed),
    )


def _one_profile_each(gpu: Gpu, wanted: Mapping[str, int]) -> dict[_Devices, int]:
    assert gpu.mig is not None
    found: dict[_Devices, int] = {}
    for name, count in sorted(wanted.items()):
        demand = _of_one_gpu(gpu, {name: count})
        devices = _best_layout(gpu, demand, True, gpu.mig.compute_slices)
        found[devices] = ceil(count / devices[0][1])
    return found


def _spread(patterns: Mapping[_Devices, int], nodes: int) -> dict[_Devices, int]:
    return {devices: ceil(count / nodes) for devices, count in patterns.items()}


@lru_cache(maxsize=4096)
def _completed(gpu: Gpu, devices: _Devices) -> _Devices:
    """The layout with spare slices where some fit, so that no compute slice is left that no one
    can use; more of what is there first."""
    assert gpu.mig is not None
    proof = place(gpu.mig, dict(devices))
    if not isinstance(proof, MigPlacement) or not proof.completions:
        return devices
    wanted = dict(devices)
    rows = gpu.mig.profiles
    plain = [c for c in proof.completions if not any(rows[name].attributes for name in c)]
    if not plain:
        return devices

    def order(completion: Mapping[str, int]) -> tuple[object, ...]:
        merged = dict(wanted)
        for name, count in completion.items():
            merged[name] = merged.get(name, 0) + count
        full = place(gpu.mig, merged) if gpu.mig is not None else proof
        assert isinstance(full, MigPlacement)
        same = sum(count for name, count in completion.items() if name in wanted)
        return (full.stranded_compute, full.stranded_memory, -same, sorted(merged.items()))

    best = min(plain, key=order)
    for name, count in best.items():
        wanted[name] = wanted.get(name, 0) + count
    return tuple(wanted.items())


@lru_cache(maxsize=4096)
def _uniform(gpu: Gpu, wanted: _Devices) -> _Devices | None:
    """The one legal layout with every profile wanted that needs fewest GPUs."""
    assert gpu.mig is not None
    geometry = gpu.mig
    best: tuple[int, int, int, _Devices] | None = None
    counts = [
        range(1, min(count, geometry.profiles[name].max_instances) + 1) for name, count in wanted
    ]
    for numbers in product(*counts):
        devices = tuple((name, n) for (name, _), n in zip(wanted, numbers, strict=True))
        if not _roomy(gpu, list(devices)):
            continue
        stranded = _stranded(gpu, devices)
        if stranded is None:
            continue
        needed = max(ceil(count / n) for (_, count), n in zip(wanted, numbers, strict=True))
        found = (needed, stranded, sum(numbers), devices)
        best = found if best is None else min(best, found)
    return None if best is None else best[3]


def volume_bound(gpu: Gpu, wanted: Mapping[str, int]) -> int:
    """GPUs these slices need at least: the larger of compute and memory volume."""
    assert gpu.mig is not None
    rows = gpu.mig.profiles
    compute = sum(rows[name].compute_slices * n for name, n in wanted.items())
    memory = sum(rows[name].memory_slots * n for name, n in wanted.items())
    return max(ceil(compute / gpu.mig.compute_slices), ceil(memory / gpu.mig.memory_slots))


def _lost(gpu: Gpu, layouts: Mapping[_Devices, int]) -> int:
    """Compute slices that layouts of so many GPUs strand."""
    return sum((_stranded(gpu, devices) or 0) * count for devices, count in layouts.items())


def _fill_gpus(
    gpu: Gpu, wanted: Mapping[str, int], mixed: bool, most_stranded: int
) -> dict[_Devices, int]:
    left: dict[str, int] = {name: count for name, count in wanted.items() if count > 0}
    found: dict[_Devices, int] = {}
    while left:
        devices = _best_layout(gpu, _of_one_gpu(gpu, left), mixed, most_stranded)
        repeat = min(left[name] // count for name, count in devices)
        found[devices] = found.get(devices, 0) + repeat
        for name, count in devices:
            left[name] -= count * repeat
        left = {name: count for name, count in left.items() if count}
    return found


def _of_one_gpu(gpu: Gpu, wanted: Mapping[str, int]) -> _Devices:
    """What one GPU could serve of each profile: demands beyond it need the same layout."""
    assert gpu.mig is not None
    rows = gpu.mig.profiles
    return tuple(sorted((name, min(n, rows[name].max_instances)) for name, n in wanted.items()))


@lru_cache(maxsize=4096)
def _stranded(gpu: Gpu, devices: _Devices) -> int | None:
    """Compute slices that a layout makes unusable; None: there is no such layout."""
    assert gpu.mig is not None
    proof = place(gpu.mig, dict(devices))
    return proof.stranded_compute if isinstance(proof, MigPlacement) else None


@lru_cache(maxsize=4096)
def _best_layout(gpu: Gpu, wanted: _Devices, mixed: bool, most_stranded: int) -> _Devices:
    """The legal layout of one GPU that serves most of what is wanted and strands at most so many
    compute slices; of equal ones that with the most profiles (`mixed`) or the fewest."""
    assert gpu.mig is not None
    geometry = gpu.mig
    rows = geometry.profiles
    order = sorted(
        wanted, key=lambda w: (-rows[w[0]].memory_slots, -rows[w[0]].compute_slices, w[0])
    )
    best: tuple[int, int, int, int, _Devices] = (-1, -1, -9, -9, ())
    chosen: list[tuple[str, int]] = []

    def search(position: int) -> None:
        nonlocal best
        if position == len(order):
            devices = tuple((name, count) for name, count in chosen if count)
            if not devices:
                return
            stranded = _stranded(gpu, devices)
            if stranded is None or stranded > most_stranded:
                return
            memory = sum(rows[n].memory_slots * c for n, c in devices)
            compute = sum(rows[n].compute_slices * c for n, c in devices)
            kinds = len(devices) if mixed else -len(devices)
            best = max(best, (memory, compute, -stranded, kinds, devices))
            return
        name, most = order[position]
        for count in range(min(most, rows[name].max_instances), -1, -1):
            chosen.append((name, count))
            if _roomy(gpu, chosen):
                search(position + 1)
            chosen.pop()

    search(0)
    # One slice alone always fits, whatever it strands.
    return best[4] or ((order[0][0], 1),)


def _roomy(gpu: Gpu, chosen: list[tuple[str, int]]) -> bool:
    assert gpu.mig is not None
    rows = gpu.mig.profiles
    return (
        sum(rows[n].memory_slots * c for n, c in chosen) <= gpu.mig.memory_slots
        and sum(rows[n].compute_slices * c for n, c in chosen) <= gpu.mig.compute_slices
    )
