"""`gpufleet cost`: which pod held which part of a node, and its cost, from a metrics dump."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from gpufleet.catalogue import MICRO_USD
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
    table_console,
    usd_per_kwh_option,
)
from gpufleet.cli.source import compile_source, read_text
from gpufleet.cost.cost import CostLine, Use, attribute
from gpufleet.cost.dump import UnreadableDumpError, histories, read_series
from gpufleet.cost.idle_power import IdleEnergy, idle_energy
from gpufleet.cost.stopped import Stop, stops
from gpufleet.documents.plain_data import plain_data
from gpufleet.findings import Finding, has_errors, ordered

# Lines of attribution, summed by the requested key.


class By(StrEnum):
    """Key of the rows."""

    TEAM = "team"
    NAMESPACE = "namespace"
    POD = "pod"
    SLICE = "slice"
    """The held resource: a GPU, a slice, a share."""
    POOL = "pool"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a report."""

    name: str
    """Value of the key; `idle` and `stranded` for unused parts; `-` for pods without a team."""
    use: Use
    micro_usd: int
    unit_seconds: int
    """Units held, times seconds."""


def rows(lines: Iterable[CostLine], by: By, teams: Mapping[str, str]) -> list[Row]:
    """Rows, most expensive first, unused parts last; together they are all lines."""
    money: dict[tuple[Use, str], int] = {}
    seconds: dict[tuple[Use, str], int] = {}
    for line in lines:
        key = (line.use, _name(line, by, teams))
        money[key] = money.get(key, 0) + line.micro_usd
        seconds[key] = seconds.get(key, 0) + line.unit_seconds
    found = [Row(name, use, amount, seconds[(use, name)]) for (use, name), amount in money.items()]
    return sorted(found, key=lambda row: (row.use is not Use.POD, -row.micro_usd, row.name))


def _name(line: CostLine, by: By, teams: Mapping[str, str]) -> str:
    if by is By.NODE:
        return line.node
    if by is By.POOL:
        return line.pool
    if by is By.SLICE:
        return line.resource or line.use.value
    if line.use is not Use.POD:
        return line.use.value
    if by is By.POD:
        return f"{line.namespace}/{line.pod}"
    return line.namespace if by is By.NAMESPACE else teams.get(line.namespace, "-")


@click.command()
@click.argument("dump", metavar="FILE")
@options(__file__, "cost", by=click.Choice([one.value for one in By]))
@usd_per_kwh_option
@format_option
def command(
    dump: str,
    spec: str,
    by: str,
    step: int | None,
    prices: str | None,
    usd_per_kwh: float | None,
    output_format: str,
) -> None:
    """Divide the cost of nodes between the pods that held their GPUs, idle parts and stranded
    parts. The rows always add up to the price of the nodes, to the micro-dollar.

    FILE is the answer of a range query, or the output of `promtool tsdb dump`:

    \b
        curl -G $PROMETHEUS/api/v1/query_range -d start=... -d end=... -d step=60 \\
          --data-urlencode 'query={__name__=~"gpu:node:pool|gpu:requested:count"}' > dump.json
        gpufleet cost dump.json --spec fleet.yaml --by team

    For the ledger of notebooks that were stopped when idle, also query
    kube_deployment_spec_replicas|kube_statefulset_replicas. Times are UTC. The table of idle
    GPUs shows their energy while no pod held them: part of the amounts above, not additional.

    JSON: {"rows": [{"name", "use", "microUsd", "unitSeconds"}], "totalMicroUsd", "nodeSeconds",
    "stopped": [{"notebook", "pool", "from", "to", "minutes", "units", "microUsd"}],
    "idlePower": [{"pool", "mig", "gpuHours", "watts", "kwh", "usd"}], "findings"}. Exits 1 when the
    declaration has an error, 2 when something cannot be read, or FILE has no node of the
    declaration.
    """
    if dump == spec == "-":
        raise UnreadableInputError("only one of FILE and --spec can be standard input")
    compiled = compile_source(spec, prices)
    if compiled.fleet is None or has_errors(compiled.findings):
        _print(None, 0, 0, [], [], usd_per_kwh, ordered(compiled.findings), output_format)
        sys.exit(exit_code(compiled.findings))
    with refusing(UnreadableDumpError, file=dump):
        series = read_series(read_text(dump))
        past, findings = histories(compiled.fleet, series, step)
        stopped, unknown = stops(compiled.fleet, series, step)
    lines = [line for history in past for line in attribute(history)]
    made = rows(lines, By(by), compiled.fleet.team_of_namespaces())
    seconds = sum(history.end - history.start for history in past)
    total = sum(history.micro_usd for history in past)
    assert total == sum(row.micro_usd for row in made), "attribution adds up by construction"
    found = ordered([*findings, *unknown])
    idle = idle_energy(compiled.fleet, lines)
    _print(made, total, seconds, stopped, idle, usd_per_kwh, found, output_format)
    require_something(
        past, f"{dump}: no sample is of a node in a pool of {spec}, so there is no cost to divide"
    )
    sys.exit(exit_code(found))


def _print(
    made: list[Row] | None,
    total: int,
    seconds: int,
    stopped: Sequence[Stop],
    idle: Sequence[IdleEnergy],
    usd_per_kwh: float | None,
    findings: tuple[Finding, ...],
    output_format: str,
) -> None:
    if output_format == "json":
        print_json(
            {
                "rows": plain_data(made),
                "totalMicroUsd": total,
                "nodeSeconds": seconds,
                "stopped": [_ledger_entry(stop) for stop in stopped],
                "idlePower": [one.as_dict(usd_per_kwh) for one in idle],
                "findings": [finding.as_dict() for finding in findings],
            }
        )
    else:
        print_findings(findings)
        if made:
            table_console().print(_table(made, total))
            click.echo(f"{seconds / 3600:,.1f} node-hours")
        if idle:
            table_console().print(_idle(idle, usd_per_kwh))
        if stopped:
            table_console().print(_ledger(stopped))


def _table(made: list[Row], total: int) -> Table:
    table = Table("who", "what for", "unit-hours", "USD", "part")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in made:
        hours = f"{row.unit_seconds / 3600:,.2f}" if row.use is Use.POD else ""
        table.add_row(
            escape(row.name), row.use.value, hours, _usd(row.micro_usd), _part(row, total)
        )
    table.add_section()
    table.add_row("all", "", "", _usd(total), "100.0 %")
    return table


def _idle(idle: Sequence[IdleEnergy], usd_per_kwh: float | None) -> Table:
    table = Table("idle GPUs of", "GPU-hours", "W each", "kWh", "USD")
    for one in idle:
        watts = "not known" if one.watts is None else f"{one.watts}{' (MIG)' if one.mig else ''}"
        kwh = "not known" if one.kwh is None else f"{one.kwh:,}"
        money = "" if one.kwh is None else one.money(usd_per_kwh)
        table.add_row(escape(one.pool.name), f"{float(one.gpu_hours):,.2f}", watts, kwh, money)
    return table


def _ledger_entry(stop: Stop) -> dict[str, Any]:
    return {
        "notebook": stop.notebook,
        "pool": stop.pool,
        "from": _time(stop.start),
        "to": _time(stop.end),
        "minutes": (stop.end - stop.start) // 60,
        "units": stop.units,
        "microUsd": stop.micro_usd,
    }


def _ledger(stopped: Sequence[Stop]) -> Table:
    table = Table("stopped", "from (UTC)", "minutes", "units", "USD")
    for column in table.columns:
        column.no_wrap = True
        column.overflow = "fold"
    for column in (table.columns[2], table.columns[4]):
        column.justify = "right"
    for stop in stopped:
        table.add_row(
            escape(stop.notebook),
            _time(stop.start),
            f"{(stop.end - stop.start) // 60:,}",
            escape(", ".join(f"{n} {name}" for name, n in stop.units.items())) or "not known",
            "not known" if stop.micro_usd is None else _usd(stop.micro_usd),
        )
    table.add_section()
    minutes = sum((stop.end - stop.start) // 60 for stop in stopped)
    known = [stop.micro_usd for stop in stopped if stop.micro_usd is not None]
    total = "all" if len(known) == len(stopped) else "all, at least"
    table.add_row(total, "", f"{minutes:,}", "", _usd(sum(known)) if known else "not known")
    return table


def _time(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%MZ")


def _usd(micro: int) -> str:
    return f"{Decimal(micro) / MICRO_USD:,.6f}"


def _part(row: Row, total: int) -> str:
    return f"{100 * row.micro_usd / total:.1f} %" if total else ""
