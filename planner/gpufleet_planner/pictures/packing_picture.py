"""Contents of the GPUs of a packing or a plan, and their picture."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, islice

from gpufleet.partition.placement import PlacedInstance
from gpufleet.render.slots_svg import GpuPart, draw_owners_svg
from gpufleet_planner.packing.patterns import proof
from gpufleet_planner.packing.problem import (
    ExistingNode,
    Mode,
    Packing,
    PackingMachine,
    PackingProblem,
)
from gpufleet_planner.planning.layouts import WHOLE_GPU, FilledPool, NodeLayout
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.sizing.device import DeviceShare

Blocks = tuple[GpuPart, ...]


@dataclass(frozen=True, slots=True)
class PictureRow:
    """A number of nodes whose GPUs have the same contents."""

    count: int
    title: str
    """Machine and GPU."""
    note: str
    """Which nodes, or which pool."""
    gpus: tuple[Blocks, ...]


def packing_rows(problem: PackingProblem, packing: Packing) -> tuple[PictureRow, ...]:
    """Rows of a packing: equal nodes once; bought before there, large before small, many first."""
    there = {node.name: node for node in problem.existing}
    machine_of = {node.name: problem.machines[node.machine] for node in packing.nodes}
    loads: dict[str, list[list[GpuPart]]] = {}
    for node in packing.nodes:
        if node.name in there:
            loads[node.name] = _occupied(there[node.name], machine_of[node.name])
        else:
            loads[node.name] = [[] for _ in range(machine_of[node.name].gpus)]
    for share in packing.assignments:
        for gpu in share.gpus:
            taken = loads[share.node][gpu]
            turn, count = (len(taken), share.replicas), len(share.gpus)
            place = (share.mode, share.profile, share.start, share.share)
            taken.append(_part(machine_of[share.node], *place, turn, count))
    groups: dict[tuple[str, bool, tuple[Blocks, ...]], list[str]] = defaultdict(list)
    for node in packing.nodes:
        gpus = tuple(
            tuple(sorted(blocks, key=lambda one: one.start)) for blocks in loads[node.name]
        )
        groups[node.machine, node.existing, gpus].append(node.name)
    ordered = sorted(
        groups.items(),
        key=lambda group: (group[0][1], -len(group[0][2]), group[0][0], -len(group[1])),
    )
    return tuple(
        PictureRow(
            len(names),
            f"{machine} ({problem.machines[machine].gpu.key})",
            f"{'there already: ' if existing else ''}{_few(names)}",
            gpus,
        )
        for (machine, existing, gpus), names in ordered
    )


def _occupied(node: ExistingNode, machine: PackingMachine) -> list[list[GpuPart]]:
    found: list[list[GpuPart]] = []
    for gpu in node.gpus:
        parts = [
            _part(machine, Mode.MIG, one.profile, one.start, None, (0, 1)) for one in gpu.occupied
        ]
        mode, taken = (Mode.WHOLE, 1) if gpu.full else (gpu.mode or Mode.WHOLE, gpu.taken)
        parts += [_part(machine, mode, None, None, None, (i, gpu.replicas)) for i in range(taken)]
        found.append(parts)
    return [*found, *([] for _ in range(machine.gpus - len(found)))]


def _part(
    machine: PackingMachine,
    mode: Mode,
    profile: str | None,
    start: int | None,
    owner: str | None,
    turn: tuple[int, int],
    gpus: int = 1,
) -> GpuPart:
    """`turn`: which of how many shares of a divided GPU it is."""
    if profile is not None and start is not None:
        assert machine.gpu.mig is not None
        slots, size = machine.gpu.mig.memory_slots, machine.gpu.mig.profiles[profile].memory_slots
        return GpuPart(Fraction(start, slots), Fraction(size, slots), owner, profile)
    if mode is Mode.WHOLE:
        text = "GPU" if gpus == 1 else f"1 of {gpus} GPUs"
        return GpuPart(Fraction(0), Fraction(1), owner, text)
    number, replicas = turn
    return GpuPart(Fraction(number, replicas), Fraction(1, replicas), owner, f"1/{replicas}")


def _few(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, {names[1]}{', ...' * (len(names) > 2)}"


MOST_ROWS = 24
"""Different kinds of node that are drawn; more would be no picture."""


def packing_svg(title: str, subtitle: str, rows: Sequence[PictureRow]) -> str:
    """The picture of at most `MOST_ROWS` rows; the subtitle states the number of omitted rows."""
    drawn: list[tuple[str, str, Blocks]] = []
    for row in rows[:MOST_ROWS]:
        head = f"{row.count} x {row.title}" if row.count > 1 else row.title
        for blocks, alike in groupby(range(len(row.gpus)), key=row.gpus.__getitem__):
            first, *_, last = 2 * [*alike]
            gpus = f"GPU {first}" if first == last else f"GPUs {first} to {last}"
            drawn.append((head, f"{row.note}; {gpus}" if head else gpus, blocks))
            head = ""
    more = len(rows) - MOST_ROWS
    left_out = f"; {more} further kinds of node are not drawn" if more > 0 else ""
    return draw_owners_svg(title, subtitle + left_out, drawn)


def plan_rows(plan: PlannedFleet) -> tuple[PictureRow, ...]:
    """Every pool, equal nodes once."""
    return tuple(row for name, pool in plan.pools for row in _pool_rows(name, pool))


def _pool_rows(name: str, pool: FilledPool) -> Iterator[PictureRow]:
    machine, contents = pool.key.machine, _pool_gpus(pool)
    nodes = Counter(tuple(islice(contents, machine.gpus)) for _ in range(pool.nodes))
    for node, count in nodes.items():
        yield PictureRow(count, f"{machine.name} ({machine.gpu.key})", f"pool {name}", node)


def _pool_gpus(pool: FilledPool) -> Iterator[Blocks]:
    """Large copies first: what they leave of a node is a multiple of the smaller ones."""
    key, geometry, cut = pool.key, pool.key.machine.gpu.mig, list[list[PlacedInstance]]()
    layout = pool.layout or NodeLayout(pool.nodes, (), {})
    waiting: dict[str, list[tuple[str, str]]] = defaultdict(list)
    kind = {DeviceShare.MPS: " MPS", DeviceShare.TIME_SLICE: " turns"}.get(key.kind, "")
    for name, option in sorted(pool.members, key=lambda row: -row[1].reached.gpus_each):
        profile, each = option.share.profile, option.reached.gpus_each
        text = "GPU" if each == 1 else f"1 of {each} GPUs"
        text = profile or (f"1/{key.replicas}{kind}" if kind else text)
        waiting[profile or WHOLE_GPU] += [(name, text)] * option.devices
    for devices, count in layout.gpus:
        assert geometry is not None
        instances = proof(geometry, tuple(devices.items())).instances
        cut += [sorted(instances, key=lambda one: one.start)] * count
    for profile, asked in layout.asked.items():
        first = layout.before.get(profile, 0)
        waiting[profile] = waiting[profile][first : first + asked]
    owners = {profile: iter(names) for profile, names in waiting.items()}
    for index in range(pool.nodes * key.machine.gpus):
        if (number := index % key.machine.gpus) < len(cut):
            assert geometry is not None
            yield tuple(
                GpuPart(
                    Fraction(one.start, geometry.memory_slots),
                    Fraction(one.size, geometry.memory_slots),
                    next(owners.get(one.profile, iter(())), (None, ""))[0],
                    one.profile,
                )
                for one in cut[number]
            )
            continue
        held = list(islice(owners.get(WHOLE_GPU, iter(())), key.replicas))
        part = Fraction(1, key.replicas)
        yield tuple(GpuPart(n * part, part, *owner) for n, owner in enumerate(held))
