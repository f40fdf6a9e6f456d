"""Pools and their contents: the workloads that share nodes, the number of nodes, and the layout of
the nodes of each MIG pool.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from statistics import mean

from gpufleet.catalogue import Gpu
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.packing import highs
from gpufleet_planner.packing.patterns import Pattern, maximal_patterns
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
from gpufleet_planner.sizing.device import DeviceShare

WHOLE_GPU = ""
"""The key of a whole GPU among the profiles of slices."""


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """The layout of every node of a pool."""

    nodes: int
    gpus: tuple[tuple[Mapping[str, int], int], ...]
    """Devices of a GPU, and on how many GPUs of each node; GPUs left over stay whole."""
    asked: Mapping[str, int]
    """Slices, and whole GPUs (`WHOLE_GPU`), that the nodes are for."""
    bound: int
    """GPUs that the slices need at least, by compute and memory volume."""
    before: Mapping[str, int] = field(default_factory=dict[str, int])
    """The amounts that earlier pools already hold."""

    @property
    def gpus_cut(self) -> int:
        """Partitioned GPUs of all nodes."""
        return self.nodes * sum(count for _, count in self.gpus)


def lay_out_pools(
    gpu: Gpu, wanted: Mapping[str, int], gpus_per_node: int, largest: int = 1
) -> tuple[NodeLayout, ...]:
    """Pools for these slices and whole GPUs, with the fewest nodes where the integer program can be
    solved: one pool with equal nodes, else one pool for each node layout. Slices of one profile may
    be in several pools. `largest`: whole GPUs of one copy on a node, a part of the node's GPUs."""
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
        gpus = tuple((dict(devices), number) for devices, number in full.items())
        earlier = {name: before.get(name, 0) for name in asked}
        bound = volume_bound(gpu, asked)
        pools.append(NodeLayout(count, gpus, asked, bound, earlier))
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
    """Layouts of the fewest GPUs that hold these slices, with least stranded slices among those; by
    the integer program where first fit needs more than the volume."""
    assert gpu.mig is not None
    filled = _filled(gpu, wanted)
    lost = any(stranded_of(gpu, devices) for devices in filled)
    tight = filled.total() == volume_bound(gpu, dict(wanted)) and not lost
    if tight or not highs.available():
        return filled
    patterns = maximal_patterns(gpu.mig, dict(wanted))
    program = highs.IntegerProgram()
    # Stranded slices decide between equal numbers of GPUs: their weights sum to less than one.
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
    """The layout with spare slices where some fit, so that no compute slice is stranded; more of
    the existing profiles first."""
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
def stranded_of(gpu: Gpu, devices: Pattern) -> int:
    """Compute slices that a legal layout makes unusable."""
    assert gpu.mig is not None
    proof = place(gpu.mig, dict(devices))
    return proof.stranded_compute if isinstance(proof, MigPlacement) else 0


Members = tuple[tuple[str, Option], ...]
"""Workloads by name, each with its option."""


@dataclass(frozen=True, slots=True)
class PoolKey:
    """Properties that workloads must share to be on the same nodes."""

    machine: OfferedMachine
    kind: DeviceShare
    intent: str
    fabric: str
    zones: tuple[str, ...] = ()
    """Zones that the plan's file names for what is on them."""
    profile: str | None = None
    """MIG: the one profile of all slices; None: profiles may be mixed."""
    replicas: int = 1
    """MPS, time-slicing: shares of one GPU."""

    @property
    def sharing(self) -> str:
        """For people and names: `whole`, `mig`, `mig-1g.10gb`, `mps-4`, `time-slice-4`."""
        if self.kind in (DeviceShare.MPS, DeviceShare.TIME_SLICE):
            return f"{self.kind.value}-{self.replicas}"
        return self.kind.value if self.profile is None else f"{self.kind.value}-{self.profile}"


@dataclass(frozen=True, slots=True)
class FilledPool:
    """A pool and what is on it."""

    key: PoolKey
    nodes: int
    members: Members
    layout: NodeLayout | None
    """The layout of each node: MIG, and whole GPUs next to slices."""

    @property
    def micro_usd(self) -> int | None:
        """Per hour, all nodes; None without a price."""
        price = self.key.machine.micro_usd
        return None if price is None else price * self.nodes

    @property
    def joined(self) -> bool:
        """Whether several of its machines work on one job."""
        return any(o.reached.gpus_each > self.key.machine.gpus for _, o in self.members)

    @property
    def spare_gpus(self) -> Fraction:
        """GPUs of the nodes that nothing was planned for: mean of compute and memory."""
        if self.layout is not None:
            parts = {
                o.share.profile or WHOLE_GPU: mean(o.share.slice_parts) for _, o in self.members
            }
            slices = self.layout.asked.items()
            used = sum((count * parts[name] for name, count in slices), Fraction(0))
        else:
            used = sum(
                (o.devices * mean(o.share.slice_parts) for _, o in self.members), Fraction(0)
            )
        return self.nodes * self.key.machine.gpus - used


def usd_per_hour(pools: Iterable[FilledPool]) -> Decimal | None:
    """All machines of pools; None where a price is missing."""
    prices = [pool.micro_usd for pool in pools]
    known = [price for price in prices if price is not None]
    return Decimal(sum(known)) / MICRO_USD if len(known) == len(prices) else None


def pool_key(
    intent: str, option: Option, one_profile: bool, zones: tuple[str, ...] = ()
) -> PoolKey:
    """The pool of an option. `one_profile`: the platform partitions all GPUs of a pool equally."""
    share = option.share
    profile = share.profile if one_profile else None
    return PoolKey(
        option.machine, share.kind, intent, option.fabric, zones, profile, share.replicas
    )


def item_of(option: Option) -> tuple[str | int, int]:
    """The demand of an option on its pool: a MIG profile and slices, the GPUs of a copy and
    copies, or 1 and shares."""
    if option.share.kind is DeviceShare.MIG:
        return option.share.profile or "", option.devices
    if option.share.kind is DeviceShare.WHOLE:
        return option.reached.gpus_each, option.reached.copies
    return 1, option.devices


def beside_slices(key: PoolKey, option: Option) -> PoolKey | None:
    """The pool of slices on whose nodes an option of whole GPUs can be too; None: on none."""
    each = option.reached.gpus_each
    gpus = key.machine.gpus
    if key.kind is not DeviceShare.WHOLE or key.fabric != "none" or each >= gpus or gpus % each:
        return None
    return replace(key, kind=DeviceShare.MIG)


def room(key: PoolKey, item: str | int) -> tuple[str | int, int, int]:
    """What of a pool an item is on machines with, its units there, and the units of one machine.

    Sizes of copies are powers of two: whatever a larger one leaves free on a machine is a multiple
    of the smaller ones. A copy of a machine or more has its own machines, and so has a stated size
    that does not divide a machine.
    """
    gpus, mig = key.machine.gpus, key.machine.gpu.mig
    if isinstance(item, str):
        assert mig is not None
        return item, 1, mig.profiles[item].max_instances * gpus
    if key.kind is not DeviceShare.WHOLE:
        return "", 1, key.replicas * gpus
    if item < gpus and gpus % item == 0:
        return "", item, gpus
    return item, ceil(item / gpus), max(gpus // item, 1)


def filled_pools(key: PoolKey, members: Members) -> Iterator[FilledPool]:
    """The pools that hold all members: one, or for mixed slices one for each layout of the
    nodes."""
    demand: Counter[str | int] = Counter()
    for item, count in (item_of(option) for _, option in members):
        demand[item] += count
    gpus = key.machine.gpus
    if key.kind is DeviceShare.MIG and key.profile is None:
        sizes = [item for item in demand if isinstance(item, int)]
        wanted = {item: n for item, n in demand.items() if isinstance(item, str)}
        if sizes:
            wanted[WHOLE_GPU] = sum(size * demand[size] for size in sizes)
        # Large copies first, as nodes are filled.
        ordered = sorted(members, key=lambda row: -row[1].reached.gpus_each)
        for layout in lay_out_pools(key.machine.gpu, wanted, gpus, max(sizes, default=1)):
            own = [row for row in ordered if (row[1].share.profile or WHOLE_GPU) in layout.asked]
            kind = DeviceShare.MIG if layout.gpus else DeviceShare.WHOLE
            yield FilledPool(replace(key, kind=kind), layout.nodes, tuple(own), layout)
        return
    units: Counter[str | int] = Counter()
    full: dict[str | int, int] = {}
    for item, count in demand.items():
        group, each, full[group] = room(key, item)
        units[group] += each * count
    nodes = sum(ceil(count / full[group]) for group, count in units.items())
    layout = None
    if key.profile is not None:
        each = full[key.profile] // gpus
        bound, asked = ceil(units[key.profile] / each), {key.profile: units[key.profile]}
        layout = NodeLayout(nodes, (({key.profile: each}, gpus),), asked, bound)
    yield FilledPool(key, nodes, members, layout)
