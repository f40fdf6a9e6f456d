# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# (the stubs of matplotlib leave its keyword arguments untyped)
"""A memory ledger as bars: each item starts where the one before ends, up to what to plan with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpufleet.cli.canvas import COLOURS, FAINT, INK, WRONG, new_figure
from gpufleet.models.ledger import Basis, Ledger
from gpufleet_planner.sizing.device import Device

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GIB = 1 << 30
_FILL = {Basis.MEASURED: COLOURS[2], Basis.MODELLED: COLOURS[0], Basis.ASSUMED: COLOURS[1]}
_INCHES = 9.6
_BAR_INCHES, _OTHER_INCHES = 0.36, 1.9
_BAR = 0.62
"""Part of its row a bar fills."""


@dataclass(frozen=True, slots=True)
class _Bar:
    name: str
    start: float
    size: float
    fill: str | None
    """None: an outline, nothing that is allocated."""
    edge: str = FAINT


def ledger_chart(need: Ledger, title: str, device: Device | None = None) -> "Figure":
    """The chart; sizes are GiB of the fullest GPU. Colour says how well a figure is known; items
    that are not alive at the peak are outlined and add nothing."""
    bars = _bars(need)
    height = _OTHER_INCHES + _BAR_INCHES * len(bars)
    figure = new_figure(_INCHES, height)
    axes = figure.add_axes((0.21, 0.65 / height, 0.76, 1 - _OTHER_INCHES / height))
    usable = 0.0 if device is None else device.usable_bytes / _GIB
    most = 1.1 * max(usable, *(bar.start + bar.size for bar in bars))
    for row, bar in enumerate(bars):
        _draw(axes, row, bar, most)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars], fontsize=9)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, most)
    axes.set_xlabel("GiB on the fullest GPU", fontsize=9)
    axes.tick_params(axis="x", labelsize=9, color=FAINT)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#eaeef2", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.text(0.02, 1 - 0.28 / height, title, fontsize=12, weight="bold", va="center")
    _legend(figure, need, height)
    if device is not None:
        _limit(axes, device, need.planning_bytes)
    return figure


def _bars(need: Ledger) -> Sequence[_Bar]:
    found: list[_Bar] = []
    place = 0.0
    for item in need.items:
        size, name = item.bytes / _GIB, item.key.replace("_", " ")
        if item.at_peak:
            found.append(_Bar(name, place, size, _FILL[item.basis]))
            place += size
        else:
            found.append(_Bar(f"({name})", 0.0, size, None, _FILL[item.basis]))
    planned = need.planning_bytes / _GIB
    margin = f"+ {need.margin.percent} % + {need.margin.fixed_bytes / _GIB:g} GiB margin"
    found.append(_Bar(margin, place, planned - place, None))
    found.append(_Bar("to plan with", 0.0, planned, "#afb8c1"))
    return found


def _draw(axes: "Axes", row: int, bar: _Bar, most: float) -> None:
    outline = "none" if bar.fill is not None else bar.edge
    axes.barh(
        row,
        bar.size,
        left=bar.start,
        height=_BAR,
        color=bar.fill or "white",
        edgecolor=outline,
        linestyle="--" if bar.fill is None else "-",
    )
    axes.text(bar.start + bar.size + 0.008 * most, row, f"{bar.size:.2f}", va="center", fontsize=9)


def _limit(axes: "Axes", device: Device, planned: int) -> None:
    fits = planned <= device.usable_bytes
    colour, usable = INK if fits else WRONG, device.usable_bytes / _GIB
    axes.axvline(usable, color=colour, linewidth=1.6)
    verdict = "fits" if fits else "does not fit"
    right = usable > axes.get_xlim()[1] / 2
    axes.annotate(
        f"{device.label}: {usable:.2f} GiB usable, {verdict}",
        (usable, -0.6),
        xytext=(0, 5),
        textcoords="offset points",
        ha="right" if right else "left",
        fontsize=9,
        color=colour,
        annotation_clip=False,
    )


def _legend(figure: "Figure", need: Ledger, height: float) -> None:
    present = {item.basis for item in need.items}
    place = 0.02
    for basis in [b for b in Basis if b in present]:
        y = 1 - 0.58 / height
        figure.text(place, y, "\u25a0", color=_FILL[basis], fontsize=12, va="center")
        figure.text(place + 0.018, y, basis.value, fontsize=9, va="center")
        place += 0.04 + 0.0095 * len(basis.value)
    if any(not item.at_peak for item in need.items):
        words = "(outlined: not alive at the peak)"
        figure.text(place, 1 - 0.58 / height, words, fontsize=9, va="center", color=FAINT)
