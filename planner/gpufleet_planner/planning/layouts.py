"""Slices onto GPUs onto equal nodes: what the nodes of each MIG pool are cut into."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil

from gpufleet.catalogue import Gpu
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.packing import highs
from gpufleet_planner.packing.patterns import Pattern, maximal_patterns

WHOLE_GPU = ""
"""What stands for a whole GPU among the profiles of slices."""


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """What every node of a pool is cut into."""

    nodes: int
    gpus: tuple[tuple[Mapping[str, int], int], ...]
    """Devices of a GPU, and on how many GPUs of each node; GPUs left over stay whole."""
    asked: Mapping[str, int]
    """Slices, and whole GPUs (`WHOLE_GPU`), that the nodes are for."""
    offered: Mapping[str, int]
    """The same of all nodes together."""
    bound: int
    """GPUs that the slices need at least, by compute and memory volume."""
    stranded: int = 0
    """Compute slices of all nodes that no instance can use."""
    before: Mapping[str, int] = field(default_factory=dict[str, int])
    """What earlier pools are for of the same."""

    @property
    def gpus_cut(self) -> int:
        """GPUs of all nodes that are cut."""
        return self.nodes * sum(count for _, count in self.gpus)


def gpus_needed(gpu: Gpu, wanted: Mapping[str, int]) -> int:
    """GPUs that hold these slices, filled one after the other: a few more than the fewest."""
    return _filled(gpu, tuple(sorted(wanted.items()))).total()


def lay_out_pools(
    gpu: Gpu, wanted: Mapping[str, int], gpus_per_node: int, largest: int = 1
) -> tuple[NodeLayout, ...]:
    """Pools for these slices and whole GPUs, of the fewest nodes where the integer program can be
    solved: one with all nodes alike, else one for each layout of a node. Slices of one profile may
    be in several. `largest`: whole GPUs that one copy needs on a node, a part of the node's."""
    return _pools(gpu, tuple(sorted(wanted.items())), gpus_per_node, largest)


@lru_cache(maxsize=4096)
def _pools(gpu: Gpu, wanted: Pattern, gpus_per_node: int, largest: int) -> tuple[NodeLayout, ...]:
    slices = {name: count for name, count in wanted if name != WHOLE_GPU}
    # Whole GPUs first: no copy of several is divided between nodes.
    cut = Counter({(): dict(wanted).get(WHOLE_GPU, 0)})
    cut += _fewest(gpu, tuple(slices.items()))
    nodes = ceil(cut.total() / gpus_per_node)
    alike = Counter({devices: ceil(count / nodes) for devices, count in cut.items()})
    if alike.total() <= gpus_per_node and (nodes == 1 or largest == 1):
        kinds = Counter({tuple(alike.elements()): nodes})
    else:
        each = list(cut.elements())
        starts = range(0, len(each), gpus_per_node)
        kinds = Counter(tuple(each[start : start + gpus_per_node]) for start in starts)
    left, before = dict(wanted), dict[str, int]()
    pools: list[NodeLayout] = []
    for node, count in kinds.items():
        full = Counter(_completed(gpu, devices) for devices in node if devices)
        offered = Counter({WHOLE_GPU: count * node.count(())})
        for devices, number in full.items():
            offered.update({name: count * number * n for name, n in devices})
        asked = {name: n for name in offered if (n := min(left.get(name, 0), offered[name]))}
        stranded = count * _lost(gpu, full)
        gpus = tuple((dict(devices), number) for devices, number in full.items())
        earlier = {name: before.get(name, 0) for name in asked}
        bound = volume_bound(gpu, asked)
        pools.append(NodeLayout(count, gpus, asked, dict(offered), bound, stranded, earlier))
        for name, taken in asked.items():
            left[name] -= taken
            before[name] = before.get(name, 0) + taken
    return tuple(pool for pool in pools if pool.asked)


def volume_bound(gpu: Gpu, wanted: Mapping[str, int]) -> int:
    """GPUs these slices need at least: the larger of compute and memory volume."""
    assert gpu.mig is not None
    slices = [(gpu.mig.profiles[name], n) for name, n in wanted.items() if name != WHOLE_GPU]
    compute = sum(row.compute_slices * n for row, n in slices)
    memory = sum(row.memory_slots * n for row, n in slices)
    return max(ceil(compute / gpu.mig.compute_slices), ceil(memory / gpu.mig.memory_slots))


def _fewest(gpu: Gpu, wanted: Pattern) -> Counter[Pattern]:
    """Layouts of the fewest GPUs that hold these slices; of as few those that strand least, by the
    integer program where one after the other needs more than the volume."""
    assert gpu.mig is not None
    filled = _filled(gpu, wanted)
    tight = filled.total() == volume_bound(gpu, dict(wanted)) and not _lost(gpu, filled)
    if tight or not highs.available():
        return filled
    patterns = maximal_patterns(gpu.mig, dict(wanted))
    program = highs.IntegerProgram()
    # A stranded slice decides between as many GPUs: all together weigh less than one.
    most = 1 + filled.total() * gpu.mig.compute_slices
    columns = [program.column(most + stranded_of(gpu, pattern)) for pattern in patterns]
    for name, count in wanted:
        held = {c: n for c, p in zip(columns, patterns, strict=True) if (n := dict(p).get(name))}
        program.row(held, lower=count)
    values = highs.solve(program).values
    found = Counter({p: round(v) for p, v in zip(patterns, values, strict=False) if round(v)})
    return found if found and found.total() <= filled.total() else filled


@lru_cache(maxsize=65536)
def _filled(gpu: Gpu, wanted: Pattern) -> Counter[Pattern]:
    """GPUs filled one after the other with the layout that leaves least of the demand's volume."""
    assert gpu.mig is not None
    rows = gpu.mig.profiles
    left: dict[str, int] = {name: count for name, count in wanted if count > 0}
    found: Counter[Pattern] = Counter()

    def served(pattern: Pattern) -> tuple[int, int, int, Pattern]:
        used = [(rows[name], min(count, left[name])) for name, count in pattern]
        memory = sum(row.memory_slots * n for row, n in used)
        compute = sum(row.compute_slices * n for row, n in used)
        return memory, compute, -stranded_of(gpu, pattern), pattern

    while left:
        best = max(maximal_patterns(gpu.mig, left), key=served)
        repeat = max(min(left[name] // count for name, count in best), 1)
        found[best] += repeat
        for name, count in best:
            left[name] = max(left[name] - count * repeat, 0)
        left = {name: count for name, count in left.items() if count}
    return found


@lru_cache(maxsize=4096)
def _completed(gpu: Gpu, devices: Pattern) -> Pattern:
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


def _lost(gpu: Gpu, layouts: Counter[Pattern]) -> int:
    return sum(stranded_of(gpu, devices) * count for devices, count in layouts.items())


@lru_cache(maxsize=4096)
def stranded_of(gpu: Gpu, devices: Pattern) -> int:
    """Compute slices that a legal layout makes unusable."""
    assert gpu.mig is not None
    proof = place(gpu.mig, dict(devices))
    return proof.stranded_compute if isinstance(proof, MigPlacement) else 0
