"""Loading an edition: cached, so that everybody in one process shares the parsed rows."""

import os
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.edition import DEFAULT_EDITION, edition_folder
from gpufleet.catalogue.instance import Price
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.catalogue.overlay import Overlay
from gpufleet.catalogue.price_rows import overridden, price_table
from gpufleet.findings import Finding, FleetError, findings_in

_finding = findings_in(__file__)

OVERLAY_VARIABLE = "GPUFLEET_CATALOGUE_OVERLAY"
"""Environment variable with the path of an overlay, for all commands and programs."""


def load(
    edition: str = DEFAULT_EDITION,
    *,
    prices: Path | None = None,
    overlay: str | Path | None = None,
) -> Catalogue:
    """The catalogue of an edition; tables are parsed at first use.

    `overlay` is a file or folder of the user's own facts, relative to the working directory;
    default: the path in the environment variable GPUFLEET_CATALOGUE_OVERLAY, else none. `prices` is
    another such file, whose prices replace those of the overlay; default: none. The same object is
    returned every time, as long as the files stay the same.

    Raises UnknownEditionError for an unknown edition, and FleetError with every problem of the
    files at once.
    """
    own = overlay or os.environ.get(OVERLAY_VARIABLE)
    paths = tuple(dict.fromkeys(Path(path).absolute() for path in (own, prices) if path))
    return _with_overlay(edition, paths, _state(paths)) if paths else _load(edition)


@cache
def _load(edition: str) -> Catalogue:
    return Catalogue(edition, edition_folder(edition))


_State = tuple[tuple[str, int, int], ...]


def _state(paths: tuple[Path, ...]) -> _State:
    """Names, times and sizes of the files of an overlay: another state is read again."""
    # Import the reader only for an overlay, to save import time.
    from gpufleet.catalogue.overlay_files import files_of

    known = ((file, file.stat()) for path in paths for file in files_of(path))
    return tuple((file.name, stat.st_mtime_ns, stat.st_size) for file, stat in known)


@lru_cache(maxsize=4)
def _with_overlay(edition: str, paths: tuple[Path, ...], state: _State) -> Catalogue:
    del state  # a part of the key
    from gpufleet.catalogue.overlay_files import read_overlay

    overlay, findings = read_overlay(paths)
    found = Catalogue(edition, edition_folder(edition), overlay=overlay)
    findings += [*_dangling(found, overlay), *_priced_nothing(found, overlay)]
    if findings:
        raise FleetError(findings, f"overlay {', '.join(map(str, paths))}")
    overrides: dict[tuple[str, str], tuple[Price, ...]] = {}
    for rows in overlay.prices.values():
        overrides = overridden(overrides, price_table(rows, found.sources))
    return replace(found, overrides=overrides)


def _dangling(catalogue: Catalogue, overlay: Overlay) -> list[Finding]:
    """An error for each machine type of the overlay whose GPU no row has."""
    known = {*catalogue.gpus, *overlay.named.get("gpus", ())}
    tables = [overlay.rows.get(f"instances-{cloud}", ()) for cloud in catalogue.clouds]
    return [
        _finding(
            "overlay-unknown-gpu",
            f"instances.{row['name']}",
            gpu=row["gpu"],
            edition=catalogue.edition,
        )
        for table in tables
        for row in table
        if row["gpu"] not in known
    ]


def _priced_nothing(catalogue: Catalogue, overlay: Overlay) -> list[Finding]:
    """An error for each price of a machine type that no row has, not even one with a problem."""
    known = {*catalogue.instances, *overlay.named.get("instances", ())}
    return [
        _finding(
            "prices-unknown-instance",
            f"prices.{name}",
            fix=f"nearest: {', '.join(near)}" if near else None,
            instance=name,
            edition=catalogue.edition,
        )
        for name in {row["instance"]: 0 for rows in overlay.prices.values() for row in rows}
        if name not in known
        for near in [nearest_names(name, known)]
    ]
