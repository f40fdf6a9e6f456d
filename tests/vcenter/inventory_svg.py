"""Hosts, their GPUs, and the machines that hold them, as one SVG picture without scripts."""

from xml.sax.saxutils import escape, quoteattr

from gpufleet_vcenter.inventory import (
    Host,
    Inventory,
    PhysicalGpu,
)
from gpufleet_vcenter.observed import Observed

_WIDTH = 800
_MARGIN = 16
_ROW = 46
_GPU_WIDTH = 360
_STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:12px;fill:#1f2328}"
    ".title{font-size:16px;font-weight:700}.head{font-weight:600}.small{font-size:11px}"
    ".host{fill:#f6f8fa;stroke:#57606a}.gpu{fill:#fff;stroke:#1f2328}"
    ".own{fill:#1f6feb;stroke:#1f2328}.other{fill:#57606a;stroke:#1f2328}"
    ".free{fill:none;stroke:#57606a;stroke-dasharray:4 3}text.held{fill:#fff;font-weight:600}"
)


def draw_inventory_svg(inventory: Inventory, title: str) -> str:
    """One box per host, one row per GPU with what it offers, and the machines that hold it.

    Machines of gpufleet are blue and marked as such in words, others grey; what is free has a
    dashed border. Every text is escaped.

    Args:
        inventory: What the hosts have and what is taken.
        title: Above the picture.
    """
    parts: list[str] = []
    top = _MARGIN + 28
    for host in inventory.hosts:
        height = 54 + _ROW * max(1, len(host.gpus))
        parts += _host(host, top, height)
        top += height + _MARGIN
    head = _text(_MARGIN, _MARGIN + 10, title, "title")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label={quoteattr(title)} '
        f'viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}">\n'
        f"<style>{_STYLE}</style>\n" + "\n".join([head, *parts]) + "\n</svg>\n"
    )


def _host(host: Host, top: int, height: int) -> list[str]:
    state = "in maintenance" if host.maintenance else "connected"
    state = state if host.connected else "not connected"
    words = f"{host.name}: {state}, {host.free_memory_mib // 1024} GiB of memory unreserved"
    offers = f"profiles offered: {', '.join(sorted(host.profiles)) or 'none'}"
    rows = [
        _box(_MARGIN, top, _WIDTH - 2 * _MARGIN, height, "host"),
        _text(_MARGIN + 12, top + 20, words, "head"),
        _text(_MARGIN + 12, top + 38, offers, "small"),
    ]
    for number, gpu in enumerate(host.gpus):
        rows += _gpu(host, gpu, top + 48 + number * _ROW)
    return rows


def _gpu(host: Host, gpu: PhysicalGpu, top: int) -> list[str]:
    label = f", label {gpu.label}" if gpu.label else ""
    kind = f"passthrough {gpu.passthrough.value}{label}, {gpu.graphics_type or 'no graphics'}"
    left = _MARGIN + 12
    rows = [
        _box(left, top, _GPU_WIDTH, _ROW - 8, "gpu"),
        _text(left + 8, top + 16, f"{gpu.address}  {gpu.name}", "head"),
        _text(left + 8, top + 31, kind, "small"),
    ]
    holders = [held for held in host.holdings if _holds(held, gpu)]
    start, room = left + _GPU_WIDTH + 12, _WIDTH - 2 * _MARGIN - _GPU_WIDTH - 36
    if not holders:
        rows.append(_box(start, top, room, _ROW - 8, "free"))
        rows.append(_text(start + 8, top + 23, "free", "small"))
        return rows
    width = (room - 6 * (len(holders) - 1)) // len(holders)
    for number, held in enumerate(holders):
        at = start + number * (width + 6)
        what = ", ".join(held.profiles) or (
            "fixed" if any(device.mode == "fixed" for device in held.gpus) else "any free device"
        )
        rows.append(_box(at, top, width, _ROW - 8, "own" if held.life else "other"))
        rows.append(_text(at + 6, top + 16, held.name, "held"))
        whose = f"{what}, gpufleet" if held.life else what
        rows.append(_text(at + 6, top + 31, whose, "held small"))
    return rows


def _holds(held: Observed, gpu: PhysicalGpu) -> bool:
    return gpu.address in held.held or held.moref in gpu.machines


def _box(x: int, y: int, width: int, height: int, kind: str) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'


def _text(x: int, y: int, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'
