"""A memory ledger as a picture: one bar of items against what the device has, as plain SVG."""

from xml.sax.saxutils import escape

from gpufleet.sizing.device import Device
from gpufleet.sizing.ledger import Basis, Ledger

_GIB = 1 << 30
_WIDTH, _BAR, _LEFT, _LINE = 760, 46, 20, 22
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f", "#76b7b2", "#edc948")
_PATTERN = {Basis.MEASURED: "1", Basis.MODELLED: "0.85", Basis.ASSUMED: "0.55"}
"""Opacity by how well an item is known: what is assumed is paler."""


def draw_ledger_svg(need: Ledger, title: str, device: Device | None = None) -> str:
    """The picture; the same ledger gives the same bytes. Items dead at the peak are left out."""
    items = [item for item in need.items if item.at_peak]
    planned = need.planning_bytes
    most = max(planned, device.usable_bytes if device is not None else 0, 1)
    scale = (_WIDTH - 2 * _LEFT) / most
    height = 120 + _BAR + _LINE * (len(items) + 2)
    size = f'width="{_WIDTH}" height="{height}"'
    box = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box}>',
        f'<rect {size} fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="28" font-size="16">{escape(title)}</text>',
    ]
    place, rows = float(_LEFT), list[tuple[str, str, str]]()
    for number, item in enumerate(items):
        colour, width = _COLOURS[number % len(_COLOURS)], item.bytes * scale
        parts.append(
            f'<rect x="{place:.2f}" y="48" width="{width:.2f}" height="{_BAR}" fill="{colour}" '
            f'fill-opacity="{_PATTERN[item.basis]}"/>'
        )
        place += width
        text = f"{item.key.replace('_', ' ')}: {item.bytes / _GIB:.2f} GiB ({item.basis.value})"
        rows.append((colour, _PATTERN[item.basis], text))
    margin = (planned - need.total_bytes) * scale
    parts.append(
        f'<rect x="{place:.2f}" y="48" width="{margin:.2f}" height="{_BAR}" fill="none" '
        'stroke="#888888" stroke-dasharray="4 3"/>'
    )
    shown = (planned - need.total_bytes) / _GIB
    rows.append(("none", "1", f"margin: {shown:.2f} GiB, {planned / _GIB:.2f} GiB to plan with"))
    if device is not None:
        line = _LEFT + device.usable_bytes * scale
        parts.append(
            f'<line x1="{line:.2f}" y1="40" x2="{line:.2f}" y2="{56 + _BAR}" stroke="#000000" '
            'stroke-width="2"/>'
        )
        verdict = "fits" if planned <= device.usable_bytes else "does not fit"
        usable = f"{device.usable_bytes / _GIB:.2f} GiB usable"
        rows.append(("#000000", "1", f"{device.label}: {usable}, {verdict}"))
    for number, (colour, opacity, text) in enumerate(rows):
        y = 84 + _BAR + _LINE * number
        parts.append(
            f'<rect x="{_LEFT}" y="{y - 11}" width="12" height="12" fill="{colour}" '
            f'fill-opacity="{opacity}" stroke="#888888"/>'
        )
        parts.append(f'<text x="{_LEFT + 20}" y="{y}">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
