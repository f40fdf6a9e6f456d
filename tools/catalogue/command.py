"""`python -m tools.catalogue`: present facts of the sources, compared with an edition."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from gpufleet.catalogue import DEFAULT_EDITION, Catalogue, UnknownKeyError, load
from tools.catalogue.difference import RowChange
from tools.catalogue.overlay_edition import check_place
from tools.catalogue.refresh import Refresh, collect, write
from tools.catalogue.sources import SOURCES
from gpufleet.catalogue.edition import edition_folder
from tools.catalogue.fetch import Fetcher
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
)
from gpufleet.findings import FleetError

_SHOWN = 20
"""Maximum number of rows of a table in text output."""


@click.command()
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Write what differs as an overlay into this new folder. Default: only show it.",
)
@click.option(
    "--source",
    "names",
    metavar="NAME",
    multiple=True,
    type=click.Choice([one.key for one in SOURCES]),
    help=f"Only this source; may be repeated. {', '.join(one.key for one in SOURCES)}.",
)
@click.option(
    "--from",
    "stored",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Stored copies, FOLDER/NAME/ for each source, instead of the network.",
)
@click.option(
    "--region",
    "regions",
    metavar="R",
    multiple=True,
    help="Only the AWS price file of this region; may be repeated. One has about 300 MB.",
)
@click.option(
    "--leave-out-refused",
    is_flag=True,
    help="Write the other rows although some were refused.",
)
@click.option(
    "--since",
    metavar="FOLDER",
    type=click.Path(exists=True, path_type=Path),
    help="Compare with the edition and this overlay, of an earlier refresh; writes nothing.",
)
@click.option("--edition", metavar="E", help="Edition to compare with. Default: the newest.")
@format_option
def command(
    out: Path | None,
    names: tuple[str, ...],
    stored: Path | None,
    regions: tuple[str, ...],
    leave_out_refused: bool,
    since: Path | None,
    edition: str | None,
    output_format: str,
) -> None:
    """Collect prices and machine types from their sources, and show what differs.

    \b
        python -m tools.catalogue --source karpenter-aws --source skypilot
        python -m tools.catalogue --out facts-2027-01 --region eu-central-1
        python -m tools.catalogue --from stored/ --format json

    A row is refused when two sources contradict each other or it cannot be true. Then nothing is
    written, unless --leave-out-refused. Unreachable sources are listed, and the others are read.

    JSON: {"edition", "sources", "unreached", "changes", "gone", "behind", "unknownTypes",
    "findings", "written"}. Exits 1 when rows were refused or a source cannot be read, 2 when no
    source was reachable or nothing could be written.
    """
    if out is not None and since is not None:
        raise click.UsageError(
            "--since only shows: an overlay has all that differs from the edition"
        )
    catalogue = _edition(edition, since)
    taken = None if out is None else check_place(out)
    if taken is not None:
        raise click.UsageError(f"--out {out} {taken}")
    fetcher = Fetcher(lambda text: click.echo(text, err=True), frozenset(regions))
    try:
        found = collect(catalogue, names, stored, fetcher.fetch)
    except OSError as problem:
        raise UnreadableInputError(f"a download cannot be stored: {problem}") from None
    if not found.contributions and not found.findings:
        _print_unreached(found)
        raise click.UsageError("no source could be read" + (f" in {stored}" if stored else ""))
    written = None
    if out is not None and found.difference.changes and (leave_out_refused or not found.findings):
        try:
            wrong = write(found, catalogue, out, (one.path for one in found.findings))
        except OSError as problem:
            raise UnreadableInputError(f"{out}: not written, nothing is there: {problem}") from None
        found.findings += wrong
        written = None if wrong else str(out)
    if output_format == "json":
        print_json(_document(found, catalogue, written))
    else:
        _print(found, catalogue, out, written)
    sys.exit(exit_code(found.findings))


def _edition(name: str | None, since: Path | None) -> Catalogue:
    """The edition to compare with. An overlay of the environment does not count."""
    try:
        if since is not None:
            return load(name or DEFAULT_EDITION, overlay=since)
        return Catalogue(name or DEFAULT_EDITION, edition_folder(name or DEFAULT_EDITION))
    except UnknownKeyError as problem:
        raise click.UsageError(str(problem)) from None
    except FleetError as problem:
        print_findings(problem.findings)
        sys.exit(exit_code(problem.findings))


def _document(found: Refresh, catalogue: Catalogue, written: str | None) -> dict[str, Any]:
    difference = found.difference
    return {
        "edition": catalogue.edition,
        "sources": [
            {
                "key": one.source.key,
                "title": one.source.title,
                "version": one.publication.version,
                "date": one.publication.day.isoformat(),
                "rows": sum(map(len, one.collected.rows.values())),
            }
            for one in found.contributions
        ],
        "unreached": [{"source": one.source, "why": one.why} for one in found.unreached],
        "changes": [_change(one) for one in difference.changes],
        "gone": [{"table": table, "row": _name(row)} for table, *row in difference.missing],
        "behind": [_change(one) for one in difference.behind],
        "unknownTypes": dict(sorted(difference.unknown_types.items())),
        "findings": [one.as_dict() for one in found.findings],
        "written": written,
    }


def _change(change: RowChange) -> dict[str, Any]:
    return {
        "table": change.table,
        "row": _name(change.key),
        "kind": "added" if change.added else "changed",
        "fields": {
            one.field: {"before": one.before, "after": one.after, "source": one.source}
            for one in change.fields
        },
    }


def _name(key: Any) -> str:
    return " ".join(str(part) for part in key if part is not None)


def _print(found: Refresh, catalogue: Catalogue, out: Path | None, written: str | None) -> None:
    difference = found.difference
    for one in found.contributions:
        rows = sum(map(len, one.collected.rows.values()))
        day = one.publication.day
        click.echo(f"{one.source.key:<16} {one.publication.version} of {day}, {rows} facts")
    _print_unreached(found)
    gone = Counter(table for table, *_ in difference.missing)
    tables = dict.fromkeys([*(one.table for one in difference.changes), *gone])
    for table in tables:
        rows = [one for one in difference.changes if one.table == table]
        added = sum(one.added for one in rows)
        numbers = f"{added} added, {len(rows) - added} changed, {gone[table]} gone"
        click.echo(f"\n{table}: {numbers}")
        for one in rows[:_SHOWN]:
            click.echo(f"  {_name(one.key)}: {_fields(one)}")
        for _, *key in [one for one in difference.missing if one[0] == table][:_SHOWN]:
            click.echo(f"  {_name(key)}: its source has it no longer; the edition's row stays")
        if max(len(rows), gone[table]) > _SHOWN:
            click.echo("  ... all of them with --format json")
    if not tables:
        click.echo(f"\nNothing differs from edition {catalogue.edition}.")
    for one in difference.behind:
        click.echo(f"Pin behind: {_name(one.key)} {_fields(one)}")
    for name, why in sorted(difference.unknown_types.items())[:_SHOWN]:
        click.echo(f"No row of {name}: {why}")
    print_findings(found.findings)
    if written is not None:
        click.echo(f"\nWritten. In a FleetSpec: `catalogueOverlay: {written}`")
    elif out is not None:
        reason = "rows were refused" if found.findings else "nothing differs"
        click.echo(f"\nNothing was written: {reason}.")


def _fields(change: RowChange) -> str:
    parts = [
        f"{one.field} {one.after}"
        if one.before is None
        else f"{one.field} {one.before} -> {one.after}"
        for one in change.fields
    ]
    return f"{', '.join(parts)} ({change.fields[0].source})"


def _print_unreached(found: Refresh) -> None:
    for one in found.unreached:
        click.echo(f"Not reached: {one.source}: {one.why}", err=True)
