# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# (the stubs of matplotlib leave its keyword arguments untyped)
"""Nodes as rows, GPUs as boxes, shares as coloured blocks in them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gpufleet.cli.canvas import COLOURS, FAINT, INK, new_figure
from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.packing.problem import (
    ExistingNode,
    Mode,
    Packing,
    PackingMachine,
    PackingProblem,
)
from gpufleet_planner.planning.layouts import WHOLE_GPU, FilledPool
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.sizing.device import DeviceShare


@dataclass(frozen=True, slots=True)
class GpuPart:
    """Part of one GPU that something has."""

    start: Fraction
    """Where it begins, from 0 to 1."""
    size: Fraction
    owner: str | None
    """Share or workload; None: it was there already, or no one has it yet."""
    text: str
    """`1g.10gb`, `1/4`, `GPU`."""


Blocks = tuple[GpuPart, ...]


@dataclass(frozen=True, slots=True)
class PictureRow:
    """So many nodes whose GPUs hold the same."""

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


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 24
"""Different kinds of node that are drawn; more would be no picture."""
_OTHERS = "#6e7781"
"""Colour of the owners that come after those with a colour of their own."""
_GPU_WIDTH, _GPU_HEIGHT, _GAP = 1.0, 1.15, 0.12
_WIDTH, _EDGE = 9.3, 0.2
"""Least width of the page, eight GPUs next to each other, and its margin."""
_HEAD, _CARD_HEAD, _CARD_FOOT, _CARD_GAP = 0.75, 0.42, 0.4, 0.35
_CARD_WIDTH = 1.75
"""Least width of a node: its title needs it."""
_LEGEND_LINE, _LEGEND_COLUMN = 0.24, 1.9
_TWO_LINES = 0.28
"""Height from which a block has room for two lines of text."""


def packing_picture(title: str, subtitle: str, rows: Sequence[PictureRow]) -> "Figure":
    """The picture of at most `MOST_ROWS` rows; the subtitle says how many are left out. Sizes are
    inches, so that text keeps its proportion to the boxes whatever their number."""
    shown = rows[:MOST_ROWS]
    owners = _owners(shown)
    width = max(_WIDTH, *(_card_width(row) + 2 * _EDGE for row in shown), 0.0)
    columns = int((width - 2 * _EDGE) // _LEGEND_COLUMN)
    top = _HEAD + -(-min(len(owners), len(COLOURS) + 1) // columns) * _LEGEND_LINE + 0.1
    cards, lines = _flow(shown, width)
    height = top + lines * (_CARD_HEAD + _GPU_HEIGHT + _CARD_FOOT)
    figure = new_figure(width, height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    left_out = len(rows) - len(shown)
    more = f"; {left_out} further kinds of node are not drawn" if left_out else ""
    axes.text(_EDGE, 0.28, title, fontsize=12, weight="bold", va="center")
    axes.text(_EDGE, 0.55, subtitle + more, fontsize=9, va="center", color=INK)
    colours = _legend(axes, owners, columns)
    for row, (left, line) in zip(shown, cards, strict=True):
        y = top + line * (_CARD_HEAD + _GPU_HEIGHT + _CARD_FOOT)
        _node(axes, row, left, y, colours)
    return figure


def _card_width(row: PictureRow) -> float:
    return max(len(row.gpus) * (_GPU_WIDTH + _GAP) - _GAP, _CARD_WIDTH)


def _flow(rows: Sequence[PictureRow], width: float) -> tuple[list[tuple[float, int]], int]:
    """Where each node goes, left to right in lines: its left edge, its line; and how many lines."""
    cards: list[tuple[float, int]] = []
    left, line = _EDGE, 0
    for row in rows:
        if left > _EDGE and left + _card_width(row) > width - _EDGE + 1e-9:
            left, line = _EDGE, line + 1
        cards.append((left, line))
        left += _card_width(row) + _CARD_GAP
    return cards, line + 1


def _owners(rows: Iterable[PictureRow]) -> list[str]:
    blocks = (block for row in rows for gpu in row.gpus for block in gpu)
    return list(dict.fromkeys(block.owner for block in blocks if block.owner is not None))


def _legend(axes: "Axes", owners: Sequence[str], columns: int) -> dict[str, str]:
    own = len(COLOURS)
    colours = {
        name: COLOURS[number] if number < own else _OTHERS for number, name in enumerate(owners)
    }
    entries = [(name, colours[name]) for name in owners[:own]]
    if len(owners) > own:
        entries.append((f"{len(owners) - own} others", _OTHERS))
    for number, (name, colour) in enumerate(entries):
        x = _EDGE + number % columns * _LEGEND_COLUMN
        y = _HEAD + 0.1 + number // columns * _LEGEND_LINE
        _box(axes, x, y - 0.07, 0.16, 0.14, colour)
        axes.text(x + 0.22, y, _cut(name, 22), fontsize=8.5, va="center")
    return colours


def _node(axes: "Axes", row: PictureRow, left: float, top: float, colours: dict[str, str]) -> None:
    letters = int(_card_width(row) / 0.078)
    head = f"{row.count} x {row.title}" if row.count > 1 else row.title
    axes.text(left, top + 0.1, _cut(head, letters), fontsize=9, weight="bold", va="center")
    note = _cut(row.note, int(letters * 1.2))
    axes.text(left, top + 0.29, note, fontsize=8, va="center", color=FAINT)
    top += _CARD_HEAD
    for number, blocks in enumerate(row.gpus):
        x = left + number * (_GPU_WIDTH + _GAP)
        _gpu(axes, x, top, blocks, colours)
        axes.text(
            x + _GPU_WIDTH / 2,
            top + _GPU_HEIGHT + 0.1,
            f"GPU {number}",
            fontsize=7,
            ha="center",
            va="center",
            color=FAINT,
        )


def _gpu(axes: "Axes", left: float, top: float, blocks: Blocks, colours: dict[str, str]) -> None:
    _box(axes, left, top, _GPU_WIDTH, _GPU_HEIGHT, "#f6f8fa", edge=FAINT, hatch="////")
    for block in blocks:
        colour = "#d0d7de" if block.owner is None else colours[block.owner]
        y, height = top + _inches(block.start), _inches(block.size)
        _box(axes, left, y, _GPU_WIDTH, height, colour, edge="white")
        words = _words(block, height)
        for line, text in enumerate(words):
            axes.text(
                left + _GPU_WIDTH / 2,
                y + height / 2 + 0.125 * (line - (len(words) - 1) / 2),
                text,
                fontsize=7 if height > 0.13 else 5.5,
                ha="center",
                va="center_baseline",
                color=_readable(colour),
            )


def _inches(part: Fraction) -> float:
    return float(part) * _GPU_HEIGHT


def _words(block: GpuPart, height: float) -> list[str]:
    """What fits: profile and owner on two lines, on one, or nothing."""
    owner = block.owner or "in use"
    if height < 0.07:
        return []
    if height >= _TWO_LINES:
        return [_cut(owner, 15), block.text]
    return [_cut(f"{owner} {block.text}", 19)]


def _box(
    axes: "Axes",
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    edge: str = "none",
    hatch: str | None = None,
) -> None:
    from matplotlib.patches import Rectangle

    box = Rectangle((x, y), width, height, facecolor=colour, edgecolor=edge, linewidth=0.8)
    if hatch is not None:
        box.set_hatch(hatch)
        box.set_edgecolor("#d0d7de")
    axes.add_patch(box)


def _readable(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


_WHOLE = (Fraction(0), Fraction(1))


def plan_rows(plan: PlannedFleet) -> tuple[PictureRow, ...]:
    """Every pool, equal nodes once."""
    return tuple(row for name, pool in plan.pools for row in _pool_rows(name, pool))


def _pool_rows(name: str, pool: FilledPool) -> Iterator[PictureRow]:
    machine = pool.key.machine
    if pool.layout is not None:
        gpus = list(_slices(pool))
    elif pool.key.kind is DeviceShare.WHOLE:
        gpus = list(_whole(pool))
    else:
        gpus = list(_parts(pool))
    each = machine.gpus
    gpus += [()] * (pool.nodes * each - len(gpus))
    nodes = Counter(tuple(gpus[n * each : (n + 1) * each]) for n in range(pool.nodes))
    for node, count in nodes.items():
        yield PictureRow(count, f"{machine.name} ({machine.gpu.key})", f"pool {name}", node)


def _slices(pool: FilledPool) -> Iterator[Blocks]:
    geometry = pool.key.machine.gpu.mig
    assert geometry is not None
    assert pool.layout is not None
    waiting: dict[str, list[str]] = defaultdict(list)
    for name, option in pool.members:
        waiting[option.share.profile or WHOLE_GPU] += [name] * option.devices
    for profile, names in waiting.items():
        if profile not in pool.layout.asked:
            continue
        first = pool.layout.before.get(profile, 0)
        names[:] = reversed(names[first : first + pool.layout.asked[profile]])
    for _ in range(pool.nodes):
        for devices, count in pool.layout.gpus:
            proof = place(geometry, dict(devices))
            assert isinstance(proof, MigPlacement), proof
            for _ in range(count):
                yield tuple(
                    GpuPart(
                        Fraction(instance.start, geometry.memory_slots),
                        Fraction(instance.size, geometry.memory_slots),
                        waiting[instance.profile].pop() if waiting[instance.profile] else None,
                        instance.profile,
                    )
                    for instance in sorted(proof.instances, key=lambda i: i.start)
                )
        for _ in range(pool.key.machine.gpus - sum(count for _, count in pool.layout.gpus)):
            whole = waiting[WHOLE_GPU]
            yield (GpuPart(*_WHOLE, whole.pop(), "GPU"),) if whole else ()


def _whole(pool: FilledPool) -> Iterator[Blocks]:
    """Large copies first: what they leave of a node is a multiple of the smaller ones."""
    for name, option in sorted(pool.members, key=lambda row: -row[1].reached.gpus_each):
        each = option.reached.gpus_each
        text = "GPU" if each == 1 else f"1 of {each} GPUs"
        for _ in range(option.devices):
            yield (GpuPart(*_WHOLE, name, text),)


def _parts(pool: FilledPool) -> Iterator[Blocks]:
    replicas = pool.members[0][1].share.replicas
    kind = "MPS" if pool.members[0][1].share.kind is DeviceShare.MPS else "turns"
    owners = [name for name, option in pool.members for _ in range(option.devices)]
    for first in range(0, len(owners), replicas):
        yield tuple(
            GpuPart(Fraction(n, replicas), Fraction(1, replicas), owner, f"1/{replicas} {kind}")
            for n, owner in enumerate(owners[first : first + replicas])
        )
