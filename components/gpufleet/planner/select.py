"""One option for each workload so that the whole is cheap: shares of one machine are bought once.

Start from the options that are cheapest alone and from those cheapest for their part of a machine;
move single workloads, and empty whole pools, while the total falls. The bound adds what each
workload's part costs at least: no choice among these options costs less.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from gpufleet.planner.compare import rank
from gpufleet.planner.layouts import NodeLayout, lay_out_nodes
from gpufleet.planner.offers import Machine
from gpufleet.planner.option import Option
from gpufleet.sizing.device import Share

_PASSES = 4
_HALF = Fraction(1, 2)
_WEIGHTS = tuple(Fraction(n, 4) for n in range(5))
_IMPOSSIBLE = 1e18
"""Cost of a pool that cannot be: above all that can."""


@dataclass(frozen=True, slots=True)
class PoolKey:
    """What workloads must have in common to be on the same nodes."""

    machine: Machine
    sharing: str
    """`whole`, `mig`, `mps-4`, `time-slice-4`."""
    intent: str
    fabric: str
    team: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One workload with the options it has."""

    name: str
    intent: str
    options: tuple[Option, ...]
    """Best alone first, never empty."""


@dataclass(frozen=True, slots=True)
class FilledPool:
    """A pool and what is on it."""

    key: PoolKey
    nodes: int
    members: tuple[tuple[str, Option], ...]
    layout: NodeLayout | None
    """MIG: what each node is cut into."""

    @property
    def micro_usd(self) -> int | None:
        """Per hour, all nodes; None without a price."""
        price = self.key.machine.micro_usd
        return None if price is None else price * self.nodes

    @property
    def spare_gpus(self) -> Fraction:
        """GPUs of the nodes that nothing was planned for: mean of compute and memory."""
        used = sum((o.devices * o.share.weighed(_HALF) for _, o in self.members), Fraction(0))
        return self.nodes * self.key.machine.gpus - used


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice for all workloads."""

    pools: tuple[FilledPool, ...]
    chosen: Mapping[str, Option]
    cost: float
    """Micro-dollars an hour; machines without a price count by their GPUs."""
    bound: float


Fits = Callable[[PoolKey], bool]


def pool_key(candidate: Candidate, option: Option, one_profile: bool) -> PoolKey:
    """The pool an option goes to. `one_profile`: the platform cuts all GPUs of a pool alike."""
    share = option.share
    sharing = share.resource_key
    if share.kind is Share.MIG and not one_profile:
        sharing = "mig"
    return PoolKey(option.machine, sharing, candidate.intent, option.fabric)


def fill(
    key: PoolKey, members: Sequence[tuple[str, Option]]
) -> tuple[int, NodeLayout | None] | None:
    """Nodes a pool needs for its members, and how they are cut. None: no equal nodes hold them."""
    machine = key.machine
    if key.sharing.startswith("mig"):
        wanted: dict[str, int] = defaultdict(int)
        for _, option in members:
            wanted[option.share.profile or ""] += option.devices
        if key.sharing != "mig":
            return _one_profile(machine, wanted)
        layout = lay_out_nodes(machine.gpu, wanted, machine.gpus)
        return None if layout is None else (layout.nodes, layout)
    if key.sharing != "whole":
        replicas = members[0][1].share.replicas
        return ceil(sum(o.devices for _, o in members) / (replicas * machine.gpus)), None
    return _whole_nodes(machine.gpus, members), None


def _one_profile(machine: Machine, wanted: Mapping[str, int]) -> tuple[int, NodeLayout]:
    assert machine.gpu.mig is not None
    ((profile, count),) = wanted.items()
    full = machine.gpu.mig.profiles[profile].max_instances
    nodes = ceil(count / (full * machine.gpus))
    offered = nodes * full * machine.gpus
    bound = ceil(count / full)
    return nodes, NodeLayout(nodes, (({profile: full}, machine.gpus),), {profile: offered}, bound)


def _whole_nodes(gpus: int, members: Sequence[tuple[str, Option]]) -> int:
    """Largest copies first into the first node with room; exact where sizes divide each other."""
    whole = 0
    free: list[int] = []
    sizes = sorted(
        ((o.reached.gpus_each, o.reached.copies) for _, o in members), key=lambda s: -s[0]
    )
    for size, copies in sizes:
        if size >= gpus:
            whole += copies * ceil(size / gpus)
            continue
        for _ in range(copies):
            for index, room in enumerate(free):
                if room >= size:
                    free[index] -= size
                    break
            else:
                free.append(gpus - size)
    return whole + len(free)


def select(candidates: Sequence[Candidate], one_profile: bool, allowed: Fits) -> Selection:
    """Options for all candidates. `allowed` refuses pools that cannot be declared. Raises KeyError
    with the name of a candidate that has no allowed option."""
    usable = {
        c.name: [o for o in c.options if allowed(pool_key(c, o, one_profile))] for c in candidates
    }
    for candidate in candidates:
        if not usable[candidate.name]:
            raise KeyError(candidate.name)
    by_name = {c.name: c for c in candidates}
    starts = (
        {name: min(options, key=rank) for name, options in usable.items()},
        {name: min(options, key=_part_first) for name, options in usable.items()},
    )
    best: _Search | None = None
    for start in starts:
        search = _Search(by_name, usable, dict(start), one_profile)
        search.improve()
        if best is None or search.total < best.total:
            best = search
    assert best is not None
    best.refuse_impossible()
    bound = max(
        sum(min(_weighed(o, weight) for o in options) for options in usable.values())
        for weight in _WEIGHTS
    )
    return Selection(best.pools(), best.chosen, best.total, bound)


def _part(option: Option) -> float:
    part = option.part_micro_usd
    # Without a price GPUs are counted, above every price: priced options win.
    return float(part) if part is not None else 1e12 * float(option.gpu_part)


def _weighed(option: Option, weight: Fraction) -> float:
    """Least an option costs whatever else is on its machines."""
    price = option.machine.micro_usd
    gpus = option.devices * option.share.weighed(weight)
    if price is None:
        return 1e12 * float(gpus)
    return float(price * gpus / option.machine.gpus)


def _part_first(option: Option) -> tuple[object, ...]:
    return (_part(option), *rank(option))


class _Search:
    """The state of one descent: who is where, and what each pool costs."""

    def __init__(
        self,
        candidates: Mapping[str, Candidate],
        usable: Mapping[str, list[Option]],
        chosen: dict[str, Option],
        one_profile: bool,
    ) -> None:
        self.candidates, self.usable, self.chosen = candidates, usable, chosen
        self.one_profile = one_profile
        self.members: dict[PoolKey, dict[str, Option]] = defaultdict(dict)
        for name, option in chosen.items():
            self.members[self._key(name, option)][name] = option
        self.costs = {key: self._cost(key, rows) for key, rows in self.members.items()}

    @property
    def total(self) -> float:
        return sum(self.costs.values())

    def _key(self, name: str, option: Option) -> PoolKey:
        return pool_key(self.candidates[name], option, self.one_profile)

    def _cost(self, key: PoolKey, rows: Mapping[str, Option]) -> float:
        if not rows:
            return 0.0
        filled = fill(key, list(rows.items()))
        if filled is None:
            return _IMPOSSIBLE
        nodes, _ = filled
        if key.machine.most_nodes is not None and nodes > key.machine.most_nodes:
            return _IMPOSSIBLE
        price = key.machine.micro_usd
        each = float(price) if price is not None else 1e12 * key.machine.gpus
        # A hair per node: of equal costs fewer nodes, of equal nodes what stands first.
        return nodes * each + nodes * 1e-3

    def improve(self) -> None:
        """Move single workloads and empty pools until nothing falls."""
        for _ in range(_PASSES):
            moved = [self._move(name) for name in self.candidates]
            emptied = [self._empty(key) for key in list(self.members)]
            if not any(moved) and not any(emptied):
                return

    def refuse_impossible(self) -> None:
        """Raise KeyError where a pool cannot be, or own machines do not suffice."""
        nodes: dict[Machine, int] = defaultdict(int)
        for key, rows in self.members.items():
            filled = fill(key, list(rows.items()))
            nodes[key.machine] += 0 if filled is None else filled[0]
            most = key.machine.most_nodes
            if filled is None or (most is not None and nodes[key.machine] > most):
                raise KeyError(next(iter(rows)))

    def _delta(self, name: str, option: Option) -> float:
        old, new = self._key(name, self.chosen[name]), self._key(name, option)
        if old == new:
            rows = {**self.members[old], name: option}
            return self._cost(old, rows) - self.costs[old]
        without = {n: o for n, o in self.members[old].items() if n != name}
        joined = {**self.members.get(new, {}), name: option}
        before = self.costs[old] + self.costs.get(new, 0.0)
        return self._cost(old, without) + self._cost(new, joined) - before

    def _put(self, name: str, option: Option) -> None:
        old, new = self._key(name, self.chosen[name]), self._key(name, option)
        del self.members[old][name]
        self.members[new][name] = option
        self.chosen[name] = option
        for key in (old, new):
            self.costs[key] = self._cost(key, self.members[key])
            if not self.members[key]:
                del self.members[key], self.costs[key]

    def _move(self, name: str) -> bool:
        current = self.chosen[name]
        best, least = current, -1e-6
        for option in self.usable[name]:
            if option is current:
                continue
            delta = self._delta(name, option)
            if delta < least:
                best, least = option, delta
        if best is current:
            return False
        self._put(name, best)
        return True

    def _empty(self, key: PoolKey) -> bool:
        """Everybody leaves a pool for what is cheapest elsewhere, if the total falls."""
        names = list(self.members.get(key, ()))
        if len(names) < 2:
            return False
        before, kept = self.total, {name: self.chosen[name] for name in names}
        for name in names:
            others = [o for o in self.usable[name] if self._key(name, o) != key]
            if not others:
                break
            self._put(name, min(others, key=lambda o, name=name: (self._delta(name, o), rank(o))))
        else:
            if self.total < before - 1e-6:
                return True
        for name, option in kept.items():
            if self.chosen[name] is not option:
                self._put(name, option)
        return False

    def pools(self) -> tuple[FilledPool, ...]:
        """The pools with their nodes, in order of their first member."""
        order = list(self.candidates)
        found: list[FilledPool] = []
        for key, rows in self.members.items():
            members = sorted(rows.items(), key=lambda row: order.index(row[0]))
            filled = fill(key, members)
            if filled is not None:
                found.append(FilledPool(key, filled[0], tuple(members), filled[1]))
        return tuple(sorted(found, key=lambda pool: order.index(pool.members[0][0])))


def over(pools: Iterable[FilledPool]) -> float:
    """Micro-dollars an hour of priced pools."""
    return sum(pool.micro_usd or 0 for pool in pools)
