"""Pools and what is on them: which workloads can share nodes, how many nodes that takes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from statistics import mean

from gpufleet_planner.planning.layouts import WHOLE_GPU, NodeLayout, gpus_needed, lay_out_pools
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Option
from gpufleet_planner.sizing.device import DeviceShare

Members = tuple[tuple[str, Option], ...]
"""Workloads by name, each with its option."""


@dataclass(frozen=True, slots=True)
class PoolKey:
    """What workloads must have in common to be on the same nodes."""

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
    """MIG, and whole GPUs beside slices: what each node is cut into."""

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


def pool_key(
    intent: str, option: Option, one_profile: bool, zones: tuple[str, ...] = ()
) -> PoolKey:
    """The pool an option goes to. `one_profile`: the platform cuts all GPUs of a pool alike."""
    share = option.share
    profile = share.profile if one_profile else None
    return PoolKey(
        option.machine, share.kind, intent, option.fabric, zones, profile, share.replicas
    )


Demand = Mapping[str | int, int]
"""What a pool must hold: MIG profile -> slices, or GPUs of a copy -> copies, or 1 -> shares."""


def item_of(option: Option) -> tuple[str | int, int]:
    """What an option adds to the demand of its pool."""
    if option.share.kind is DeviceShare.MIG:
        return option.share.profile or "", option.devices
    if option.share.kind is DeviceShare.WHOLE:
        return option.reached.gpus_each, option.reached.copies
    return 1, option.devices


def demand_of(options: Iterable[Option]) -> dict[str | int, int]:
    """What a pool of these options must hold."""
    found: dict[str | int, int] = defaultdict(int)
    for option in options:
        item, count = item_of(option)
        found[item] += count
    return found


def nodes_of(key: PoolKey, demand: Demand) -> int:
    """Nodes that a demand needs, all pools of the key together; of slices a few more than the pools
    will have."""
    machine = key.machine
    if key.kind is not DeviceShare.MIG and key.kind is not DeviceShare.WHOLE:
        return ceil(sum(demand.values()) / (key.replicas * machine.gpus))
    slices, sizes = _divided(demand)
    if key.profile is not None:
        return _one_profile(machine, slices).nodes
    if slices:
        sizes[1] = sizes.get(1, 0) + gpus_needed(machine.gpu, slices)
    return _whole_nodes(machine.gpus, sizes)


def _divided(demand: Demand) -> tuple[dict[str, int], dict[int, int]]:
    """Slices by profile, and copies by their whole GPUs."""
    slices = {item: count for item, count in demand.items() if isinstance(item, str)}
    return slices, {item: count for item, count in demand.items() if isinstance(item, int)}


def beside_slices(key: PoolKey, option: Option) -> PoolKey | None:
    """The pool of slices on whose nodes an option of whole GPUs can be too; None: on none."""
    each = option.reached.gpus_each
    gpus = key.machine.gpus
    if key.kind is not DeviceShare.WHOLE or key.fabric != "none" or each >= gpus or gpus % each:
        return None
    return replace(key, kind=DeviceShare.MIG)


def filled_pools(key: PoolKey, members: Members) -> Iterator[FilledPool]:
    """The pools that hold all members: one, or for MIG one for each layout of the nodes."""
    demand = demand_of(option for _, option in members)
    if key.kind is not DeviceShare.MIG:
        yield FilledPool(key, nodes_of(key, demand), members, None)
        return
    slices, sizes = _divided(demand)
    if key.profile is not None:
        layouts: Iterable[NodeLayout] = (_one_profile(key.machine, slices),)
    else:
        whole = sum(size * copies for size, copies in sizes.items())
        wanted = slices | ({WHOLE_GPU: whole} if whole else {})
        gpus = key.machine.gpus
        layouts = lay_out_pools(key.machine.gpu, wanted, gpus, max(sizes, default=1))
    # Large copies first, as nodes are filled.
    ordered = sorted(members, key=lambda row: -row[1].reached.gpus_each)
    for layout in layouts:
        own = tuple(row for row in ordered if (row[1].share.profile or WHOLE_GPU) in layout.asked)
        kind = DeviceShare.MIG if layout.gpus else DeviceShare.WHOLE
        yield FilledPool(replace(key, kind=kind), layout.nodes, own, layout)


def _one_profile(machine: OfferedMachine, wanted: Mapping[str, int]) -> NodeLayout:
    assert machine.gpu.mig is not None
    ((profile, count),) = wanted.items()
    full = machine.gpu.mig.profiles[profile].max_instances
    nodes = ceil(count / (full * machine.gpus))
    offered = nodes * full * machine.gpus
    bound = ceil(count / full)
    cut = (({profile: full}, machine.gpus),)
    return NodeLayout(nodes, cut, dict(wanted), {profile: offered}, bound)


def _whole_nodes(gpus: int, sizes: Mapping[int, int]) -> int:
    """Copies of some GPUs each, largest first; exact, because sizes are powers of two: whatever a
    larger one leaves free on a node is a multiple of the smaller ones."""
    whole = small = 0
    for size, copies in sizes.items():
        if size >= gpus:
            whole += copies * ceil(size / gpus)
        elif gpus % size:
            # A size someone stated that does not divide the node: so many to a node.
            whole += ceil(copies / (gpus // size))
        else:
            small += copies * size
    return whole + ceil(small / gpus)
