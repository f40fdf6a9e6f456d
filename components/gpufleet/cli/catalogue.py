"""`gpufleet catalogue`: the facts everything rests on, each with its source and date."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click

from gpufleet.catalogue import Catalogue, UnknownKeyError, load
from gpufleet.cli.catalogue_rows import TABLES, Row
from gpufleet.cli.output import exit_code, format_option, print_findings, print_json
from gpufleet.findings import FleetError

_BY_GPU = ("gpus", "mig", "vgpu", "drivers", "instances", "prices", "offers")
_BY_CLOUD = ("instances", "prices")


@click.command()
@click.argument("table", metavar="TABLE", type=click.Choice(list(TABLES)))
@click.option("--gpu", metavar="KEY", help=f"Only rows of this GPU ({', '.join(_BY_GPU)}).")
@click.option("--cloud", type=click.Choice(["aws", "gcp"]), help="Only instances of this cloud.")
@click.option(
    "--region", metavar="R", help="Only what is known of prices in this region (prices, instances)."
)
@click.option(
    "--user-class",
    type=click.Choice(["light", "medium", "heavy"]),
    help="Only vGPU types that NVIDIA recommends for such users of RTX vWS (vgpu).",
)
@click.option("--edition", metavar="E", help="Edition of the catalogue. Default: the newest.")
@click.option(
    "--prices",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Prices that replace the edition's prices (docs/catalogue.md has the format).",
)
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
    offers, models, charts, images, sources.

    \b
        gpufleet catalogue mig --gpu A100-80
        gpufleet catalogue vgpu --gpu L40S --user-class heavy
        gpufleet catalogue prices --gpu L4 --cloud aws --region eu-central-1
        gpufleet catalogue gpus --format json | jq '.[] | select(.mig_unknown)'

    JSON: a list of rows with every field; what no source gives is null. Exits 1 when the price file
    has errors, 2 for an unknown GPU or edition.
    """
    if gpu and table not in _BY_GPU:
        raise click.UsageError(f"--gpu has no meaning for {table}, only for {', '.join(_BY_GPU)}")
    if cloud and table not in _BY_CLOUD:
        raise click.UsageError(
            f"--cloud has no meaning for {table}, only for {', '.join(_BY_CLOUD)}"
        )
    if region and table not in _BY_CLOUD:
        raise click.UsageError(
            f"--region has no meaning for {table}, only for {', '.join(_BY_CLOUD)}"
        )
    try:
        catalogue = _load(edition, prices)
        key = catalogue.find_gpu(gpu).key if gpu else None
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


def _load(edition: str | None, prices: Path | None) -> Catalogue:
    return load(prices=prices) if edition is None else load(edition, prices=prices)


def _print_table(title: str, columns: Iterable[str], rows: Sequence[Row]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 180)
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
"""Characters of a column next to its text."""
_USUAL_WIDTH = 30
"""Characters from which a text is folded rather than counted in full."""


def _columns_that_fit(cells: Mapping[str, Sequence[str]], width: int) -> list[str]:
    """The first columns whose words need not be cut, at least two."""
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
    """A value as a person reads it; nothing where no source gave one."""
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
