"""`gpufleet explain`: a compiled fleet as text, with the proof of each MIG layout."""

import base64
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import escape
from zoneinfo import ZoneInfo

import click

from gpufleet.calendar.cells import calendar_grid, grid_svg
from gpufleet.calendar.fleet_calendar import fleet_calendar
from gpufleet.catalogue import MICRO_USD
from gpufleet.cli.html_parts import document, finding, tiles
from gpufleet.cli.moments import as_of_option
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    usd_per_kwh_option,
    write_file,
)
from gpufleet.cli.pool_lines import explain_pool, pool_lines, pool_title
from gpufleet.cli.source import compile_files
from gpufleet.cli.tables import quota_lines, sharing_line, usd
from gpufleet.cost.idle_power import idle_month
from gpufleet.findings import Finding, Severity, ordered
from gpufleet.fleet import Fleet, Pool, Unbounded
from gpufleet.fleet.as_dict import pool_as_dict
from gpufleet.fleet.explained import contract_of
from gpufleet.fleet.model import Money
from gpufleet.messages import marked
from gpufleet.render.slots_svg import NARROW, WIDE, draw_partition_svg
from gpufleet.spec.pool import GpuPool


@click.command()
@click.argument("source", metavar="SPEC")
@click.argument("pool", required=False)
@options(__file__, "explain")
@usd_per_kwh_option
@as_of_option
@format_option
def command(
    source: str,
    pool: str | None,
    svg: str | None,
    html: str | None,
    usd_per_kwh: float | None,
    as_of: datetime | None,
    output_format: str,
) -> None:
    """Explain a FleetSpec pool by pool: who installs what, how GPUs are shared, what it costs, why.

    SPEC is a YAML or JSON file, a Pulumi stack file with `gpufleet:fleet`, or `-`. Without POOL,
    all pools are explained.

    \b
        gpufleet explain stacks/Pulumi.sandbox-dev.yaml
        gpufleet explain fleet.yaml notebooks --svg notebooks.svg
        gpufleet explain fleet.yaml --html fleet.html

    The page of --html contains all in one file: findings, spend, the slots of each pool, and a
    calendar from --as-of on (or from today) if the declaration has dates.
    """
    compiled = compile_files(source, None, as_of)
    fleet = compiled.fleet
    if output_format == "text":
        print_findings(compiled.findings)
    pools = _chosen(fleet, pool) if fleet is not None else ()
    if svg is not None:
        _draw(pools, svg)
    if html is not None and fleet is not None:
        page = fleet_page(fleet, pools, compiled.findings, calendar_pictures(fleet, as_of))
        write_file(html, page)
    if output_format == "json":
        findings = [finding.as_dict() for finding in compiled.findings]
        power = [idle_month(one).as_dict(usd_per_kwh) for one in pools]
        print_json(
            {
                "pools": [pool_as_dict(one) for one in pools],
                "idlePower": power,
                "findings": findings,
            }
        )
    else:
        click.echo("" if fleet is None else pools_as_text(fleet, pools, usd_per_kwh))
    sys.exit(exit_code(compiled.findings))


def pools_as_text(fleet: Fleet, pools: Iterable[Pool], usd_per_kwh: float | None = None) -> str:
    """The output of the command for pools of a fleet."""
    terms = {pool.name: contract_of(pool, fleet) for pool in fleet.pools}
    return "\n\n".join(
        "\n".join([explain_pool(one, terms[one.name], usd_per_kwh), *quota_lines(fleet, one.name)])
        for one in pools
    )


def _chosen(fleet: Fleet, name: str | None) -> tuple[Pool, ...]:
    if name is None:
        return fleet.pools
    chosen = tuple(pool for pool in fleet.pools if pool.name == name)
    if not chosen:
        names = ", ".join(pool.name for pool in fleet.pools) or "none"
        raise UnreadableInputError(f"there is no pool {name!r} among those that compile: {names}")
    return chosen


def _draw(pools: tuple[Pool, ...], file: str) -> None:
    if len(pools) != 1:
        names = ", ".join(pool.name for pool in pools) or "none that compiles"
        raise UnreadableInputError(f"--svg draws one pool, name it: {names}")
    picture = draw_partition_svg(pools[0].gpu, pools[0].partition, f"Pool {pools[0].name}")
    write_file(file, picture)


# `--html`: a fleet as one page without other files, hosts or scripts.

_HOURS_PER_MONTH = 730
_NUMBER = ' class="number"'


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG of the page."""

    title: str
    svg: str


def fleet_page(
    fleet: Fleet,
    pools: Sequence[Pool],
    findings: Iterable[Finding],
    pictures: Iterable[Picture] = (),
) -> str:
    """The page: cost, each pool with its GPUs and facts, additional pictures, findings.

    Args:
        fleet: The compiled fleet.
        pools: The pools to show.
        findings: Findings of the declaration.
        pictures: Pictures of the whole fleet, after the pools.
    """
    cluster = fleet.spec.cluster
    title = f"{cluster.name} on {fleet.spec.platform.value}"
    found = ordered(findings)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="where"><a href="#findings">{escape(_counted(found))}</a></p>',
        *_spend(fleet, pools),
    ]
    for pool in pools:
        body += _pool(pool)
    for one in pictures:
        body += [f"<section><h2>{escape(one.title)}</h2>"]
        body += [_picture(one.title, one.svg), "</section>"]
    body += _findings(found)
    return document(title, body)


def _counted(found: Sequence[Finding]) -> str:
    counts = Counter(one.severity for one in found)
    words = [
        f"{counts[level]} {level.value}{'' if counts[level] == 1 else 's'}"
        for level in (Severity.ERROR, Severity.WARNING)
        if counts[level]
    ]
    return ", ".join(words) or "No errors, no warnings"


def _pool(pool: Pool) -> list[str]:
    wide, narrow = (
        draw_partition_svg(pool.gpu, pool.partition, "One node", width) for width in (WIDE, NARROW)
    )
    facts = [
        f"<dt>{escape(fact.name[:1].upper() + fact.name[1:])}</dt>"
        f"<dd>{'<br>'.join(map(marked, (fact.text,) if fact.text else fact.items))}</dd>"
        for fact in pool_lines(pool)
    ]
    name, title = escape(pool.name), escape(pool_title(pool))
    return [
        f'<section><h2 id="{name}">{name}<small>{title}</small></h2>',
        _picture(f"GPUs of one node of {pool.name}", wide, narrow),
        *("<dl>", *facts, "</dl></section>"),
    ]


def _picture(text: str, svg: str, narrow: str | None = None) -> str:
    """A picture; on a telephone the narrow one, else it scrolls."""
    image = f'<img alt="{escape(text)}" src="{_data(svg)}">'
    if narrow is None:
        return f'<div class="wide">{image}</div>'
    source = f'<source media="(max-width: 34rem)" srcset="{_data(narrow)}">'
    return f"<picture>{source}{image}</picture>"


def _findings(found: Sequence[Finding]) -> list[str]:
    """Findings of one kind with one text as one finding with all places."""
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for one in found:
        kind = (one.severity.value, one.code, one.statement, one.fix or "")
        alike.setdefault(kind, []).append(one.place)
    lines = [finding(*kind, places) for kind, places in alike.items()]
    return ['<h2 id="findings">Findings</h2>', *lines] if lines else []


def _month(bound: Money) -> str:
    """A bound for a month of 730 hours."""
    if isinstance(bound, Unbounded):
        return "unknown"
    return f"{Decimal(bound) / MICRO_USD * _HOURS_PER_MONTH:,.0f}"


def _spend(fleet: Fleet, pools: Sequence[Pool]) -> list[str]:
    spend = fleet.spend
    bounds = {
        "minimum": spend.minimum,
        "expected": spend.expected,
        "maximum": spend.maximum,
    }
    words = ("pool", "machine", "sharing")
    numbers = ("nodes", "expected USD/h", "expected USD a month", "maximum USD/h")
    rows = [
        "<tr>"
        + "".join(
            f'<td data-label="{label}"{_NUMBER if label in numbers else ""}>{text}</td>'
            for label, text in zip(
                words + numbers,
                (
                    f'<a href="#{escape(pool.name)}">{escape(pool.name)}</a>',
                    escape(pool.machines[0].name),
                    escape(sharing_line(pool)),
                    f"{pool.nodes.minimum} to {pool.nodes.maximum}",
                    usd(pool.spend.expected),
                    _month(pool.spend.expected),
                    usd(pool.spend.maximum),
                ),
                strict=True,
            )
        )
        + "</tr>"
        for pool in pools
    ]
    columns = "".join(f"<th>{text}</th>" for text in words)
    columns += "".join(f"<th{_NUMBER}>{text}</th>" for text in numbers)
    return [
        *tiles(
            (name, f"{usd(bound)} USD/h", f"{_month(bound)} USD a month")
            for name, bound in bounds.items()
        ),
        f'<section><h2>Spend</h2><div class="wide"><table><thead><tr>{columns}</tr></thead><tbody>',
        *(*rows, "</tbody></table></div>"),
        _picture("Spend of each pool", _bars(pools, 600), _bars(pools, 180)),
        "</section>",
    ]


def _bars(pools: Sequence[Pool], length: int) -> str:
    """Minimum to maximum cost of each pool an hour, with the expected cost as a mark.

    The longest bar has `length` pixels; the pool's name is above its bar, where it fits.
    """
    left, width = 8, length + 128
    bounds = [
        [
            None if isinstance(bound, Unbounded) else float(bound)
            for bound in (pool.spend.minimum, pool.spend.expected, pool.spend.maximum)
        ]
        for pool in pools
    ]
    top = max((value for row in bounds for value in row if value is not None), default=0.0) or 1.0
    height = 44 * len(pools) + 8
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<style>text{font:13px system-ui,sans-serif;fill:#1f2328}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, (pool, (low, usual, high)) in enumerate(zip(pools, bounds, strict=True)):
        y = 26 + number * 44
        out.append(f'<text x="{left}" y="{y - 8}">{escape(pool.name)}</text>')
        if low is None or usual is None or high is None:
            out.append(f'<text x="{left}" y="{y + 12}">unknown</text>')
            continue
        start, mark, end = (left + length * value / top for value in (low, usual, high))
        wide = max(end - start, 1)
        out.append(
            f'<rect x="{start:.1f}" y="{y}" width="{wide:.1f}" height="14" fill="#1f6feb55"/>'
        )
        out.append(f'<rect x="{mark:.1f}" y="{y - 2}" width="3" height="18" fill="#1f6feb"/>')
        text = usd(pool.spend.maximum)
        out.append(f'<text x="{end + 8:.1f}" y="{y + 12}">{text} USD/h</text>')
    return "\n".join([*out, "</svg>"])


def _data(svg: str) -> str:
    """The picture as a data URL, so that styles and ids of two pictures do not conflict."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


# Pictures of a whole fleet for `--html`.

DAYS = 30
"""Length of the calendar."""


def calendar_pictures(fleet: Fleet, start: datetime | None) -> tuple[Picture, ...]:
    """The calendar of the days after a time; none if the declaration has no dates."""
    if not any(_is_dated(pool.spec) for pool in fleet.pools):
        return ()
    begin = (start or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
    if begin.tzinfo is None:
        begin = begin.replace(tzinfo=UTC)
    grid = calendar_grid(
        fleet_calendar(fleet, begin, begin + timedelta(days=DAYS)), ZoneInfo("UTC")
    )
    title = f"Calendar, {DAYS} days from {begin:%Y-%m-%d} (UTC)"
    return (Picture(title, grid_svg(grid, title)),)


def _is_dated(pool: GpuPool) -> bool:
    """Whether a pool has windows, maintenance or commitments."""
    bought = (way.capacity_block or way.reserved for way in pool.capacity)
    dated = any(one is not None and one.until is not None for one in bought)
    return dated or bool(pool.maintenance) or bool(pool.commitments)
