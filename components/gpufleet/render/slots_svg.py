"""GPUs of a node as one SVG picture: self-contained, without scripts, readable at its width."""

import textwrap
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from gpufleet.catalogue.gpu import Gpu, MigGeometry
from gpufleet.partition.partition import Partition
from gpufleet.partition.placement import MigPlacement
from gpufleet.render.slots import (
    alike,
    balance,
    indices,
    offer,
    share_segments,
    sliced,
    slot_segments,
    unpartitioned,
    widths,
)

WIDE, NARROW = 800, 380
"""Pixels: of a page, and of a telephone."""
_MARGIN = 16
_BOX = 52
_LETTERS = 120
"""Letters of small text that surely fit between the margins of a wide one (11 px sans serif)."""
_LETTER = 7
"""Pixels of a letter in a box, surely (13 px sans serif); of small text 6."""
_FILLS = ("#1f6feb", "#0a7d5c", "#8250df", "#9a4d00", "#0b6e99", "#a3245a", "#57606a")
"""Colours by size of the instance, one hue per profile; contrast to white text above 4.5:1."""
_STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:13px;fill:#1f2328}"
    ".head{font-weight:600}.title{font-size:16px;font-weight:700}"
    ".slot{font-size:10px;fill:#57606a}"
    ".used,.unused{text-anchor:middle}text.used{fill:#fff}.small{font-size:11px}.tiny{font-size:9px}"
    ".box{stroke:#1f2328;stroke-width:1}"
)
_HATCHING = (
    '<pattern id="unused" width="8" height="8" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="8" height="8" fill="#fff"/>'
    '<line x1="0" y1="0" x2="0" y2="8" stroke="#d0d7de" stroke-width="4"/></pattern>'
)


def draw_partition_svg(gpu: Gpu, partition: Partition, title: str, width: int = WIDE) -> str:
    """Every distinct layout of a node's GPUs, with the resources that pods can request.

    `title` names the pool, `width` is in pixels. Every text is escaped; each box carries a
    `<title>` for screen readers and pointers; unused slots are hatched, so that the picture does
    not depend on colour.
    """
    offered = offer(partition)
    page = _Page(title, f"one node offers: {offered}", width)
    for layouts in alike(partition.gpus):
        placement = layouts[0].placement
        head = f"{indices(layouts)}  {gpu.key}"
        if placement is None or gpu.mig is None:
            page.row(head, unpartitioned(partition))
            page.boxes(share_segments(gpu, partition))
        else:
            page.row(head, balance(gpu.mig, placement) + sliced(partition))
            page.slots(gpu.mig, placement)
    return page.document()


def draw_placement_svg(gpu: Gpu, placement: MigPlacement) -> str:
    """One GPU with a placed layout."""
    assert gpu.mig is not None, f"{gpu.key} has a placement but no MIG geometry"
    page = _Page(gpu.key, ", ".join(f"{c} x {name}" for name, c in placement.devices.items()))
    page.row("", balance(gpu.mig, placement))
    page.slots(gpu.mig, placement)
    return page.document()


class _Page:
    """Rows from top to bottom; the height follows from the drawn rows."""

    def __init__(self, title: str, description: str, width: int = WIDE) -> None:
        self._width = width
        self._title = title
        self._description = description
        self._parts = [_text(_MARGIN, 24, title, "title")]
        self._top = 34
        self._small(description)

    def _small(self, text: str) -> None:
        """A paragraph of small text, broken into lines that fit the width."""
        for line in textwrap.wrap(
            text, _LETTERS * (self._width - 2 * _MARGIN) // (WIDE - 2 * _MARGIN)
        ):
            self._parts.append(_text(_MARGIN, self._top + 10, line, "small"))
            self._top += 15

    def row(self, head: str, remark: str) -> None:
        """Begin a row with its head and a remark."""
        self._top += 16
        if head:
            self._parts.append(_text(_MARGIN, self._top + 10, head, "head"))
            self._top += 17
        self._small(remark)
        self._top += 3

    def boxes(self, boxes: Sequence[tuple[str, str]]) -> None:
        """Boxes over the whole width: the GPU, or its shares."""
        fill = _FILLS[-1] if len(boxes) == 1 else _FILLS[0]
        left = _MARGIN
        for width, title, detail in widths(boxes, self._width - 2 * _MARGIN):
            self._parts.append(_rectangle(left, self._top, width, title, detail, fill))
            left += width
        self._top += _BOX

    def slots(self, geometry: MigGeometry, placement: MigPlacement) -> None:
        """Boxes over numbered memory slots."""
        column = (self._width - 2 * _MARGIN) / geometry.memory_slots
        sizes = sorted({p.memory_slots for p in geometry.profiles.values()})
        for segment in slot_segments(geometry, placement):
            left, width = _MARGIN + segment.start * column, segment.size * column
            fill = _FILLS[sizes.index(segment.size)] if segment.used else "url(#unused)"
            last = segment.start + segment.size - 1
            which = f"slot {last}" if segment.size == 1 else f"slots {segment.start}-{last}"
            self._parts.append(
                _rectangle(
                    left, self._top, width, segment.title, segment.detail, fill, which, segment.used
                )
            )
        self._top += _BOX
        for slot in range(geometry.memory_slots):
            left = _MARGIN + slot * column + 3
            self._parts.append(_text(left, self._top + 12, str(slot), "slot"))
        self._top += 14

    def document(self) -> str:
        """The finished picture."""
        width, height = self._width, self._top + _MARGIN
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-labelledby="title description">\n'
            f'<title id="title">{escape(self._title)}</title>\n'
            f'<desc id="description">{escape(self._description)}</desc>\n'
            f"<style>{_STYLE}</style><defs>{_HATCHING}</defs>\n"
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
            f"{body}\n</svg>\n"
        )


def _rectangle(
    left: float,
    top: float,
    width: float,
    title: str,
    detail: str,
    fill: str,
    which: str = "",
    used: bool = True,
) -> str:
    """A box with one or two centred lines, which are its title as well."""
    spoken = f"{title} {detail}".strip() + (f", memory {which}" if which else "")
    kind = "used" if used else "unused"
    size = "" if len(title) * _LETTER <= width - 2 else " tiny"
    lines = [_text(left + width / 2, top + (24 if detail else 31), title, kind + size)]
    if detail:
        size = "small" if len(detail) * (_LETTER - 1) <= width - 2 else "tiny"
        lines.append(_text(left + width / 2, top + 41, detail, f"{kind} {size}"))
    return (
        f"<g><title>{escape(spoken)}</title>"
        f'<rect x="{left + 1:.1f}" y="{top}" width="{width - 2:.1f}" height="{_BOX}" rx="4" '
        f'fill={quoteattr(fill)} class="box"/>{"".join(lines)}</g>'
    )


def _text(left: float, baseline: float, text: str, style: str) -> str:
    return f'<text x="{left:.1f}" y="{baseline:.1f}" class="{style}">{escape(text)}</text>'
