"""One refresh: fetch, collect, merge, compare with an edition, write what is new as an overlay."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gpufleet.catalogue.catalogue import Catalogue
from tools.catalogue.difference import Difference, difference
from tools.catalogue.integrity import implausible
from tools.catalogue.merge import Contribution, merge
from tools.catalogue.overlay_edition import overlay_documents, write_edition
from tools.catalogue.publication import (
    CannotReachError,
    UnreadableSourceError,
    read_stored,
)
from tools.catalogue.sources import SOURCES, CollectedSource
from gpufleet.catalogue.load import load
from gpufleet.findings import Finding, FleetError, error

Fetch = Callable[[CollectedSource, Path, Catalogue], list[str]]
"""Stores the files of a source in a folder; what of it could not be had while the rest could.
Raises CannotReachError."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """Missing parts of a source, and the reasons."""

    source: str
    why: str


@dataclass(slots=True)
class Refresh:
    """Everything a refresh found."""

    contributions: list[Contribution] = field(default_factory=list[Contribution])
    unreached: list[Unreached] = field(default_factory=list[Unreached])
    difference: Difference = field(default_factory=Difference)
    findings: list[Finding] = field(default_factory=list[Finding])
    """Contradictions, implausible rows and files of an unknown form."""


def collect(
    catalogue: Catalogue, names: Sequence[str], stored: Path | None, fetch: Fetch
) -> Refresh:
    """Collect from the named sources, all by default, and compare with an edition.

    `stored`: a folder with a folder of files for each source; default: download them.
    Raises OSError when a download cannot be stored.
    """
    found = Refresh()
    chosen = [one for one in SOURCES if not names or one.key in names]
    with ExitStack() as stack:
        folder = stored
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="gpufleet-catalogue-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for source in chosen:
            _one(found, source, folder / source.key, catalogue, None if stored else fetch, names)
    merged = merge(found.contributions, _sold(catalogue))
    found.difference = difference(catalogue, merged, found.contributions)
    found.findings += merged.findings
    found.findings += implausible(found.difference.changes, catalogue)
    return found


def _one(
    found: Refresh,
    source: CollectedSource,
    folder: Path,
    catalogue: Catalogue,
    fetch: Fetch | None,
    names: Sequence[str],
) -> None:
    """Fetch and read one source."""
    if fetch is not None:
        try:
            missed = fetch(source, folder, catalogue)
        except CannotReachError as problem:
            found.unreached.append(Unreached(source.key, str(problem)))
            return
        found.unreached += [Unreached(source.key, one) for one in missed]
    elif not folder.is_dir():
        if names:
            found.unreached.append(Unreached(source.key, f"there is no folder {folder}"))
        return
    try:
        files = read_stored(folder)
        collected = source.collect(files, catalogue)
    except UnreadableSourceError as problem:
        message = f"{source.title}: {problem}"
        fix = (
            "the form of the source has changed, or the file is damaged: leave it out with --source"
        )
        found.findings.append(error("catalogue-source-unreadable", source.key, message, fix))
        return
    contribution = Contribution(source, files.publication, collected)
    found.contributions.append(contribution)


def _sold(catalogue: Catalogue) -> Iterable[tuple[str, str]]:
    """Machine type and region of each price of the edition."""
    for table in catalogue.prices.values():
        for (name, _), prices in table.items():
            yield from ((name, price.region) for price in prices if price.region is not None)


def write(found: Refresh, catalogue: Catalogue, out: Path, refused: Iterable[str]) -> list[Finding]:
    """Write the changes as an overlay; findings of its validation, after which nothing is there.

    `refused`: places of findings whose rows are left out. Raises OSError when it cannot be written.
    """
    left_out = set(refused)
    changes = [
        one
        for one in found.difference.changes
        if f"{one.table}.{' '.join(map(str, one.key))}" not in left_out
    ]
    publications = {
        one.source.key: (one.source.title, one.publication) for one in found.contributions
    }

    def validate(folder: Path) -> list[Finding]:
        try:
            load(catalogue.edition, overlay=folder)
        except FleetError as problem:
            return list(problem.findings)
        return []

    return list(write_edition(out, overlay_documents(changes, publications), validate))
