"""`gpufleet catalogue`: the facts behind all results, each with its source and date."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import click

from gpufleet.catalogue import Catalogue, InstanceType, Price, Source, UnknownKeyError, load
from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.catalogue.load import DEFAULT_EDITION
from gpufleet.catalogue.regions import check_region
from gpufleet.cli.options import options
from gpufleet.cli.output import exit_code, format_option, print_findings, print_json, table_console
from gpufleet.findings import FleetError

# Rows of `gpufleet catalogue`: fields of the JSON, and columns of the text.

Row = dict[str, Any]
RowsOf = Callable[[Catalogue, str | None, str | None], Iterator[Row]]
"""(catalogue, GPU key or None, cloud or None) -> rows."""

GIB = 2**30


def as_row(fact: Any, *leave_out: str) -> Row:
    """A row of the catalogue as plain data, with separate fields for source and date."""
    row: Row = {}
    for item in fields(fact):
        if item.name in leave_out or item.name == "source":
            continue
        row[item.name] = _plain(getattr(fact, item.name))
    if hasattr(fact, "source"):
        row |= _source(fact.source)
    return row


def _source(source: Source) -> Row:
    return {"source": source.key, "date": source.date.isoformat(), "also": list(source.also)}


def _plain(value: Any) -> Any:
    if isinstance(value, Source):
        return _source(value)
    if is_dataclass(value):
        return as_row(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, frozenset):
        return sorted(cast("frozenset[Any]", value))
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction | Decimal):
        return str(value)
    return value


def _gpus(catalogue: Catalogue, gpu: str | None, _cloud: str | None) -> Iterator[Row]:
    for fact in catalogue.gpus.values():
        if gpu in (None, fact.key):
            capability = fact.compute_capability
            row = as_row(fact, "mig", "vgpu", "compute_capability")
            row["compute_capability"] = capability and f"{capability[0]}.{capability[1]}"
            row["memory_gib"] = _gib(fact.memory_bytes)
            row["idle_watts"] = fact.idle_watts(mig=False)
            row["mig"] = fact.mig and {
                "shape": fact.mig.shape,
                "evidence": fact.mig.evidence.value,
                "profiles": list(fact.mig.profiles),
                "balanced": dict(fact.mig.balanced),
            }
            row["vgpu"] = None if fact.vgpu is None else as_row(fact.vgpu)
            row["mig_layouts"] = (
                fact.mig.shape if fact.mig else "unknown" if fact.mig_unknown else "none"
            )
            yield row


def _mig(catalogue: Catalogue, gpu: str | None, _cloud: str | None) -> Iterator[Row]:
    for key, geometry in catalogue.geometries.items():
        if gpu in (None, key):
            for profile in geometry.profiles.values():
                row = {"gpu": key, **as_row(profile)}
                row["resource"] = profile.resource
                row["usable_gib"] = _gib(profile.usable_bytes)
                yield row
    for fact in catalogue.gpus.values():
        if gpu in (None, fact.key) and fact.mig_unknown:
            for name, most in fact.mig_published.items():
                yield {
                    "gpu": fact.key,
                    "name": name,
                    "max_instances": most,
                    "starts": None,
                    "evidence": "unknown",
                    "notes": fact.mig_unknown,
                    **_source(fact.source),
                }


def _vgpu(catalogue: Catalogue, gpu: str | None, _cloud: str | None) -> Iterator[Row]:
    for key, board in catalogue.vgpu_boards.items():
        for name in board.names if gpu in (None, key) else ():
            for tail, most in board.types.items():
                row: Row = {"gpu": key, "type": f"{name}-{tail}", "max_per_gpu": most}
                row["printed"] = f"NVIDIA {board.printed}{name}-{tail}"
                row["users"] = [user for user, types in board.users.items() if tail in types]
                yield {**row, "notes": board.notes, **_source(board.source)}


def _drivers(catalogue: Catalogue, gpu: str | None, _cloud: str | None) -> Iterator[Row]:
    for fact in catalogue.gpus.values():
        if gpu not in (None, fact.key) or fact.generation is None:
            continue
        row = {"gpu": fact.key, **as_row(fact.generation)}
        row |= {"first_driver": None, "first_operator": None, "first_device_plugin": None}
        if fact.support is not None:
            row |= as_row(fact.support, "kernel_modules")
            row["also"] = [*row["also"], fact.generation.source.key]
        yield {**row, "kernel_modules": fact.kernel_modules}


def _selected(catalogue: Catalogue, gpu: str | None, cloud: str | None) -> Iterator[InstanceType]:
    if gpu is not None:
        yield from catalogue.instances_with_gpu(gpu, cloud if cloud else None, fractional=True)
        return
    for fact in catalogue.instances.values():
        if cloud in (None, fact.cloud):
            yield fact


def _instances(catalogue: Catalogue, gpu: str | None, cloud: str | None) -> Iterator[Row]:
    for fact in _selected(catalogue, gpu, cloud):
        row = as_row(fact)
        row["gpu"] = fact.accelerator.gpu
        row["gpus"] = None if fact.gpus is None else str(fact.gpus)
        row["memory_gib"] = _gib(fact.memory_bytes)
        row["on_demand_usd"] = _money(fact.on_demand)
        yield row


def _prices(catalogue: Catalogue, gpu: str | None, cloud: str | None) -> Iterator[Row]:
    for fact in _selected(catalogue, gpu, cloud):
        prices = {"onDemand": fact.on_demand, "spot": fact.spot, **fact.other_prices}
        for option, price in prices.items():
            row: Row = {"instance": fact.name, "cloud": fact.cloud, "buy": option}
            row |= as_row(price)
            row["usd_per_hour"] = _money(price)
            row["interruption"] = fact.spot_interruption if option == "spot" else None
            yield row


def _offers(catalogue: Catalogue, gpu: str | None, _cloud: str | None) -> Iterator[Row]:
    for fact in catalogue.offers:
        if gpu is not None and fact.gpu != gpu:
            continue
        row = {**as_row(fact, "micro_usd"), "memory_gib": _gib(fact.memory_bytes)}
        prices = fact.micro_usd.items()
        row["usd_per_hour"] = {
            region: f"{Decimal(micro) / MICRO_USD:f}" for region, micro in prices
        }
        yield row


def _table(name: str) -> RowsOf:
    def rows(catalogue: Catalogue, _gpu: str | None, _cloud: str | None) -> Iterator[Row]:
        for fact in getattr(catalogue, name).values():
            yield as_row(fact)

    return rows


def _gib(size: int | None) -> float | None:
    return None if size is None else round(size / GIB, 2)


def _money(price: Price) -> str | None:
    """Dollars: `12.34`, `0.35 to 0.55` for a range, or the state of the offer."""
    if price.micro_usd_per_hour is None:
        return price.offer.value
    low = f"{Decimal(price.micro_usd_per_hour) / MICRO_USD:f}"
    if price.high_micro_usd_per_hour is None:
        return low
    return f"{low} to {Decimal(price.high_micro_usd_per_hour) / MICRO_USD:f}"


_ROWS: Mapping[str, RowsOf] = {
    "gpus": _gpus,
    "mig": _mig,
    "vgpu": _vgpu,
    "drivers": _drivers,
    "instances": _instances,
    "prices": _prices,
    "offers": _offers,
}
TABLES: Mapping[str, tuple[RowsOf, tuple[str, ...]]] = {
    row["table"]: (_ROWS.get(row["table"]) or _table(row["table"]), tuple(row["columns"]))
    for row in read_rows(Path(__file__).parent, "catalogue_columns")
}
"""Table -> its rows, and the columns that text output shows (`catalogue_columns.jsonl`)."""


_BY_GPU = tuple(_ROWS)
_BY_CLOUD = ("instances", "prices")


@click.command()
@click.argument("table", metavar="TABLE", type=click.Choice(list(TABLES)))
@options(__file__, "catalogue", prices=click.Path(exists=True, dir_okay=False, path_type=Path))
@format_option
def command(
    table: str,
    gpu: str | None,
    cloud: str | None,
    region: str | None,
    user_class: str | None,
    edition: str | None,
    prices: Path | None,
    output_format: str,
) -> None:
    """Show a table of the catalogue: gpus, mig, vgpu, drivers, instances, prices,
    offers, models, engines, charts, images, sources.

    \b
        gpufleet catalogue mig --gpu A100-80
        gpufleet catalogue vgpu --gpu L40S --user-class heavy
        gpufleet catalogue prices --gpu L4 --cloud aws --region eu-central-1
        gpufleet catalogue gpus --format json | jq '.[] | select(.mig_unknown)'

    JSON: a list of rows with every field; a value without a source is null. Exits 1 when the price
    file has errors, 2 for an unknown GPU or edition.
    """
    limited = (("gpu", gpu, _BY_GPU), ("cloud", cloud, _BY_CLOUD), ("region", region, _BY_CLOUD))
    for option, given, of in limited:
        if given and table not in of:
            text = f"--{option} has no meaning for {table}, only for {', '.join(of)}"
            raise click.UsageError(text)
    try:
        catalogue = load(edition or DEFAULT_EDITION, prices=prices)
        key = catalogue.find_gpu(gpu).key if gpu else None
        clouds = ("aws", "gcp") if cloud is None else (cloud,)
        print_findings(check_region(region, clouds, catalogue, "--region"))
        catalogue = catalogue.in_region(region, estimate=False)
    except UnknownKeyError as problem:
        raise click.UsageError(str(problem)) from None
    except FleetError as problem:
        print_findings(problem.findings)
        sys.exit(exit_code(problem.findings))
    rows_of, columns = TABLES[table]
    rows = list(rows_of(catalogue, key, cloud))
    if user_class:
        rows = [row for row in rows if user_class in row.get("users", ())]
        if not rows:
            raise click.UsageError(
                f"NVIDIA's sizing guide names no vGPU type for {user_class} users of "
                f"{key or table}; it does of L40S (`gpufleet catalogue vgpu`)"
            )
    if output_format == "json":
        print_json(rows)
    else:
        _print_table(f"{table}, edition {catalogue.edition}", columns, rows)
        if not rows:
            click.echo("No rows: the edition has none of these options.")


def _print_table(title: str, columns: Iterable[str], rows: Sequence[Row]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = table_console()
    cells = {name: [_words(row.get(name)) for row in rows] for name in columns}
    shown = _columns_that_fit(cells, console.width)
    output = Table(title=title, title_justify="left")
    for name in shown:
        output.add_column(name.replace("_", " "), overflow="fold")
    for texts in zip(*(cells[name] for name in shown), strict=True):
        output.add_row(*map(Text, texts))
    console.print(output)
    if len(shown) < len(cells):
        left = ", ".join(name.replace("_", " ") for name in cells if name not in shown)
        click.echo(f"Too narrow for {left}: use a wider terminal or --format json.")


_FRAME = 3
"""Width of a column besides its text, in characters."""
_USUAL_WIDTH = 30
"""Length from which a text is wrapped, in characters."""


def _columns_that_fit(cells: Mapping[str, Sequence[str]], width: int) -> list[str]:
    """The first columns whose words fit uncut, at least two."""
    shown: list[str] = []
    left = width - 1
    for name, texts in cells.items():
        heading = max(map(len, name.split("_")))
        left -= _FRAME + max(heading, min(_USUAL_WIDTH, max(map(len, texts), default=0)))
        if left < 0 and len(shown) >= 2:
            break
        shown.append(name)
    return shown


def _words(value: object) -> str:
    """A value as text; empty if no source gives one."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return " ".join(
            f"{key}:{_words(item)}" for key, item in cast("dict[str, Any]", value).items()
        )
    if isinstance(value, list):
        return " ".join(_words(item) for item in cast("list[Any]", value))
    return str(value)
