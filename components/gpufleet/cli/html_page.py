"""`--html`: a fleet as one page that needs no other file, host or script."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from gpufleet.cli.tables import sharing_line, usd
from gpufleet.findings import Finding, ordered
from gpufleet.fleet import Fleet, Pool, Unbounded
from gpufleet.render.slots_svg import draw_partition_svg

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.35rem 0.6rem; border-bottom: 1px solid #8884; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; background: #fff; border-radius: 4px; display: block; margin: 0.8rem 0; }
pre { overflow-x: auto; background: #8881; padding: 0.8rem; border-radius: 4px; font-size: 0.8rem; }
.error { color: #d1242f; } .warning { color: #9a6700; }
.wide { overflow-x: auto; }
"""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG of the page."""

    title: str
    svg: str


def fleet_page(
    fleet: Fleet,
    pools: Sequence[Pool],
    findings: Iterable[Finding],
    texts: Mapping[str, str],
    pictures: Iterable[Picture] = (),
) -> str:
    """The page: findings, spend, further pictures, and each pool with its slots.

    Args:
        fleet: The compiled fleet.
        pools: Those of its pools that are shown.
        findings: Findings of the declaration.
        texts: Pool -> what `gpufleet explain` says of it.
        pictures: Pictures of the whole fleet, after the spend.
    """
    title = f"{fleet.spec.cluster.name} on {fleet.spec.platform.value}"
    body = [
        f"<h1>{escape(title)}</h1>",
        *_findings(findings),
        "<h2>Spend</h2>",
        *_spend(fleet, pools),
        f'<img alt="Spend of each pool" src="{_data(_bars(pools))}">',
    ]
    for one in pictures:
        body += [f"<h2>{escape(one.title)}</h2>"]
        body += [f'<img alt="{escape(one.title)}" src="{_data(one.svg)}">']
    for pool in pools:
        drawing = draw_partition_svg(pool.gpu, pool.partition, f"Pool {pool.name}")
        body += [
            f'<h2 id="{escape(pool.name)}">{escape(pool.name)}</h2>',
            f'<img alt="GPUs of one node of {escape(pool.name)}" src="{_data(drawing)}">',
            f"<pre>{escape(_COLOURS.sub('', texts.get(pool.name, '')))}</pre>",
        ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _findings(findings: Iterable[Finding]) -> list[str]:
    lines = [
        f'<li><span class="{one.severity.value}">{one.severity.value}</span> '
        f"<code>{escape(one.place)}</code>: {escape(one.statement)}"
        f"{'' if one.fix is None else f' <em>{escape(one.fix)}</em>'}</li>"
        for one in ordered(findings)
    ]
    return ["<h2>Findings</h2>", "<ul>", *lines, "</ul>"] if lines else []


def _spend(fleet: Fleet, pools: Sequence[Pool]) -> list[str]:
    head = "".join(
        f'<th class="number">{text}</th>' for text in ("nodes", "least", "expected", "most")
    )
    rows = [
        f'<tr><td><a href="#{escape(pool.name)}">{escape(pool.name)}</a></td>'
        f"<td>{escape(pool.machines[0].name)}</td><td>{escape(sharing_line(pool))}</td>"
        f'<td class="number">{pool.nodes.minimum} to {pool.nodes.maximum}</td>'
        + "".join(
            f'<td class="number">{usd(bound)}</td>'
            for bound in (pool.spend.minimum, pool.spend.expected, pool.spend.maximum)
        )
        + "</tr>"
        for pool in pools
    ]
    spend = fleet.spend
    words = (
        f"<p>At least {usd(spend.minimum)}, expected {usd(spend.expected)}, at most "
        f"{usd(spend.maximum)} USD an hour.</p>"
    )
    columns = f"<th>pool</th><th>machine</th><th>sharing</th>{head}"
    start = f'<div class="wide"><table><thead><tr>{columns}</tr></thead><tbody>'
    return [words, start, *rows, "</tbody></table></div>"]


def _bars(pools: Sequence[Pool]) -> str:
    """From the least to the most that each pool can cost an hour, with the expected as a mark."""
    bounds = [
        [
            None if isinstance(bound, Unbounded) else float(bound)
            for bound in (pool.spend.minimum, pool.spend.expected, pool.spend.maximum)
        ]
        for pool in pools
    ]
    top = max((value for row in bounds for value in row if value is not None), default=0.0) or 1.0
    height = 26 * len(pools) + 16
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {height}" role="img">',
        "<style>text{font:13px system-ui,sans-serif;fill:#1f2328}</style>",
        f'<rect width="800" height="{height}" fill="#fff"/>',
    ]
    for number, (pool, (low, usual, high)) in enumerate(zip(pools, bounds, strict=True)):
        y = 12 + number * 26
        out.append(f'<text x="8" y="{y + 12}">{escape(pool.name[:22])}</text>')
        if low is None or usual is None or high is None:
            out.append(f'<text x="180" y="{y + 12}">unknown</text>')
            continue
        start, mark, end = (180 + 500 * value / top for value in (low, usual, high))
        wide = max(end - start, 1)
        out.append(
            f'<rect x="{start:.1f}" y="{y}" width="{wide:.1f}" height="14" fill="#1f6feb55"/>'
        )
        out.append(f'<rect x="{mark:.1f}" y="{y - 2}" width="3" height="18" fill="#1f6feb"/>')
        text = usd(pool.spend.maximum)
        out.append(f'<text x="{end + 8:.1f}" y="{y + 12}">{text} USD/h</text>')
    return "\n".join([*out, "</svg>"])


def _data(svg: str) -> str:
    """The picture as an address: styles and ids of two pictures do not meet."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
