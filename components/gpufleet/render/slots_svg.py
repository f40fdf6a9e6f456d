"""GPUs of a node as one SVG picture: self-contained, without scripts, readable at 800 pixels."""

from xml.sax.saxutils import escape, quoteattr

from gpufleet.catalogue.gpu import Gpu
from gpufleet.partition import Partition, Placement
from gpufleet.render.slots import Segment, alike, balance, indices, sliced, slot_segments, whole_gpu

_WIDTH = 800
_MARGIN = 16
_HEAD = 48
_ROW = 112
_BOX = 52
_FILLS = ("#1f6feb", "#0a7d5c", "#8250df", "#9a4d00", "#0b6e99", "#a3245a", "#57606a")
"""By size of the instance, one hue per profile; white text on each has a contrast above 4.5:1."""


def draw_partition_svg(gpu: Gpu, partition: Partition, title: str) -> str:
    """Every distinct layout of a node's GPUs, with what can be asked for.

    `title` names the pool. Every text is escaped; each box carries a `<title>` for screen readers
    and pointers; unused slots are hatched, so that the picture does not depend on colour.
    """
    rows = list(alike(partition.gpus))
    offered = ", ".join(f"{name} x {count}" for name, count in partition.advertised.items())
    parts: list[str] = []
    for number, layouts in enumerate(rows):
        top = _HEAD + number * _ROW
        head = f"{indices(layouts)}  {gpu.key}"
        placement = layouts[0].placement
        if placement is None or gpu.mig is None:
            parts.append(_text(_MARGIN, top + 16, f"{head}: whole", "head"))
            width = _WIDTH - 2 * _MARGIN
            lines = whole_gpu(gpu, partition)
            parts.append(_rectangle(_MARGIN, top + 26, width, *lines, _FILLS[-1]))
            continue
        used = balance(gpu.mig, placement) + sliced(partition)
        parts.append(_text(_MARGIN, top + 16, f"{head}: {used}", "head"))
        parts += _slots(gpu, placement, top + 26)
    return _document(title, offered, _HEAD + len(rows) * _ROW, parts)


def draw_placement_svg(gpu: Gpu, placement: Placement) -> str:
    """One GPU with a placed layout."""
    assert gpu.mig is not None, f"{gpu.key} has a placement but no MIG geometry"
    parts = [_text(_MARGIN, _HEAD + 16, balance(gpu.mig, placement), "head")]
    parts += _slots(gpu, placement, _HEAD + 26)
    layout = ", ".join(f"{count} x {name}" for name, count in placement.devices.items())
    return _document(gpu.key, layout, _HEAD + _ROW, parts)


def _slots(gpu: Gpu, placement: Placement, top: int) -> list[str]:
    assert gpu.mig is not None
    slots = gpu.mig.memory_slots
    column = (_WIDTH - 2 * _MARGIN) / slots
    sizes = sorted({p.memory_slots for p in gpu.mig.profiles.values()})
    parts: list[str] = []
    for segment in slot_segments(gpu.mig, placement):
        left, width = _MARGIN + segment.start * column, segment.size * column
        fill = _FILLS[sizes.index(segment.size)] if segment.used else "url(#unused)"
        parts.append(_rectangle(left, top, width, segment.title, segment.detail, fill, segment))
    parts += [
        _text(_MARGIN + slot * column + 3, top + _BOX + 14, str(slot), "slot")
        for slot in range(slots)
    ]
    return parts


def _rectangle(
    left: float,
    top: float,
    width: float,
    title: str,
    detail: str,
    fill: str,
    segment: Segment | None = None,
) -> str:
    """A box with up to two centred lines."""
    where = "" if segment is None else f", memory slots {segment.start}-{_last(segment)}"
    spoken = f"{title} {detail}".strip() + where
    middle = left + width / 2
    kind = "used" if segment is None or segment.used else "unused"
    lines = [_text(middle, top + (32 if not detail else 24), title, kind)]
    if detail:
        lines.append(_text(middle, top + 42, detail, f"{kind} small"))
    return (
        f"<g><title>{escape(spoken)}</title>"
        f'<rect x="{left + 1:.1f}" y="{top}" width="{width - 2:.1f}" height="{_BOX}" rx="4" '
        f'fill={quoteattr(fill)} class="box"/>{"".join(lines)}</g>'
    )


def _last(segment: Segment) -> int:
    return segment.start + segment.size - 1


def _text(left: float, baseline: float, text: str, style: str) -> str:
    return f'<text x="{left:.1f}" y="{baseline:.1f}" class="{style}">{escape(text)}</text>'


def _document(title: str, description: str, height: int, parts: list[str]) -> str:
    style = (
        "text{font-family:system-ui,sans-serif;font-size:13px;fill:#1f2328}"
        ".head{font-weight:600}.title{font-size:16px;font-weight:700}"
        ".slot{font-size:10px;fill:#57606a}"
        ".used,.unused{text-anchor:middle}.used{fill:#fff}.small{font-size:11px}"
        ".box{stroke:#1f2328;stroke-width:1}"
    )
    pattern = (
        '<pattern id="unused" width="8" height="8" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="8" height="8" fill="#fff"/>'
        '<line x1="0" y1="0" x2="0" y2="8" stroke="#d0d7de" stroke-width="4"/></pattern>'
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" aria-labelledby="title description">\n'
        f'<title id="title">{escape(title)}</title>\n'
        f'<desc id="description">{escape(description)}</desc>\n'
        f"<style>{style}</style><defs>{pattern}</defs>\n"
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>\n'
        f"{_text(_MARGIN, 22, title, 'title')}\n{_text(_MARGIN, 40, description, 'small')}\n"
        f"{body}\n</svg>\n"
    )
