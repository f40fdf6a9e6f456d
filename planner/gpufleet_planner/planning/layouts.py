"""Pools and their contents: the workloads that share nodes, the number of nodes, and the layout of
the nodes of each MIG pool.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from statistics import mean

from gpufleet.catalogue import Gpu
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import Mode, PackingMachine, PackingProblem, ShareClass
from gpufleet_planner.packing.slots import Pattern, maximal_patterns, proof
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
from gpufleet_planner.sizing.device import DeviceShare

WHOLE_GPU = ""
"""The key of a whole GPU among the profiles of slices."""


Demand = tuple[tuple[str | int, int], ...]
"""MIG profile -> slices, and GPUs of a copy -> copies."""


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """The layout of every node of a pool."""

    nodes: int
    gpus: tuple[tuple[Mapping[str, int], int], ...]
    """Devices of a GPU, and on how many GPUs of each node; GPUs left over stay whole."""
    asked: Mapping[str, int]
    """Slices, and whole GPUs (`WHOLE_GPU`), that the nodes are for."""

    @property
    def gpus_cut(self) -> int:
        """Partitioned GPUs of all nodes."""
        return self.nodes * sum(count for _, count in self.gpus)


def lay_out_pools(
    gpu: Gpu, wanted: Mapping[str | int, int], gpus_per_node: int
) -> tuple[NodeLayout, ...]:
    """Pools for these slices and copies on whole GPUs, with the nodes that the packer needs: one
    pool with equal nodes, else one pool for each node layout. Slices of one profile may be in
    several pools."""
    demand = tuple(sorted(wanted.items(), key=str))
    sizes = {item: count for item, count in demand if isinstance(item, int)}
    left = Counter({item: count for item, count in demand if isinstance(item, str)})
    left[WHOLE_GPU] = sum(size * count for size, count in sizes.items())
    packed = _packed(gpu, demand, gpus_per_node)
    nodes, cut = len(packed), Counter(devices for node in packed for devices in node)
    cut[()] = left[WHOLE_GPU]
    alike = Counter({devices: ceil(count / nodes) for devices, count in cut.items()})
    if alike.total() <= gpus_per_node and (nodes == 1 or max(sizes, default=1) == 1):
        kinds = Counter({tuple(alike.elements()): nodes})
    else:
        # Large copies are listed first, and so are the nodes that have room for them.
        kinds = Counter(sorted(packed, key=lambda node: -node.count(())))
    pools: list[NodeLayout] = []
    for node, count in kinds.items():
        full = Counter(_completed(gpu, devices) for devices in node if devices)
        offered = Counter({WHOLE_GPU: count * node.count(())})
        for devices, number in full.items():
            offered.update({name: count * number * n for name, n in devices})
        asked = {name: n for name in offered if (n := min(left[name], offered[name]))}
        gpus = tuple((dict(devices), number) for devices, number in full.items())
        if asked:
            pools.append(NodeLayout(count, gpus, asked))
        left.subtract(asked)
    return tuple(pools)


@lru_cache(maxsize=4096)
def _packed(gpu: Gpu, wanted: Demand, gpus_per_node: int) -> tuple[tuple[Pattern, ...], ...]:
    """The layout of each GPU of each node, as the packer fills them; empty: whole or free."""
    assert gpu.mig is not None
    shares = tuple(
        ShareClass(item, count, Mode.MIG, item)
        if isinstance(item, str)
        else ShareClass(f"{item}", count, Mode.WHOLE, gpus=item)
        for item, count in wanted
    )
    machine = PackingMachine("node", gpu, gpus_per_node, gpu.memory_bytes)
    packing = pack(PackingProblem({machine.name: machine}, shares))
    held: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for one in packing.assignments:
        held[one.node, one.gpus[0]].update([one.profile] if one.profile is not None else [])
    slices = frozenset(item for item, _ in wanted if isinstance(item, str))
    patterns = {one: Counter(dict(one)) for one in maximal_patterns(gpu.mig, slices)}
    each = [[held[node.name, i] for i in range(gpus_per_node)] for node in packing.nodes]
    # A GPU that is not full takes the layout that most of the others can have too.
    common = sorted(patterns, key=lambda p: -sum(one <= patterns[p] for one in held.values()))
    return tuple(
        tuple(sorted(next(p for p in common if one <= patterns[p]) if one else () for one in node))
        for node in each
    )


@lru_cache(maxsize=4096)
def _completed(gpu: Gpu, devices: Pattern) -> Pattern:
    """The layout with spare slices where some fit, so that no compute slice is stranded; more of
    the existing profiles first."""
    assert gpu.mig is not None
    geometry, held = gpu.mig, Counter(dict(devices))
    plain = frozenset(name for name, row in geometry.profiles.items() if not row.attributes)

    def order(pattern: Pattern) -> tuple[object, ...]:
        found = proof(geometry, pattern)
        same = sum(count for name, count in pattern if name in held)
        return found.stranded_compute, found.stranded_memory, -same, sorted(pattern)

    full = (p for p in maximal_patterns(geometry, plain) if held <= Counter(dict(p)))
    return min(full, key=order, default=devices)


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
    def whole_gpus(self) -> int:
        """GPUs of each node that are not partitioned."""
        cut = 0 if self.layout is None else sum(count for _, count in self.layout.gpus)
        return self.key.machine.gpus - cut

    @property
    def joined(self) -> bool:
        """Whether several of its machines work on one job."""
        return any(o.reached.gpus_each > self.key.machine.gpus for _, o in self.members)

    @property
    def spare_gpus(self) -> Fraction:
        """GPUs of the nodes that nothing was planned for: mean of compute and memory."""
        parts = {o.share.profile or WHOLE_GPU: mean(o.share.slice_parts) for _, o in self.members}
        asked = {WHOLE_GPU: sum(option.devices for _, option in self.members)}
        asked = self.layout.asked if self.layout is not None else asked
        used = sum((count * parts[item] for item, count in asked.items()), Fraction(0))
        return self.nodes * self.key.machine.gpus - used


def usd_per_hour(pools: Iterable[FilledPool]) -> Decimal | None:
    """All machines of pools; None where a price is missing."""
    spent = Decimal(0)
    for pool in pools:
        price = pool.key.machine.usd_per_hour
        if price is None:
            return None
        spent += pool.nodes * price
    return spent


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
        # Large copies first, as nodes are filled.
        ordered = sorted(members, key=lambda row: -row[1].reached.gpus_each)
        for layout in lay_out_pools(key.machine.gpu, demand, gpus):
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
        asked = {key.profile: units[key.profile]}
        layout = NodeLayout(nodes, (({key.profile: each}, gpus),), asked)
    yield FilledPool(key, nodes, members, layout)
