"""Loading an edition: cached, so that everybody in one process shares the parsed rows."""

import os
from functools import cache, lru_cache
from pathlib import Path

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.edition import DEFAULT_EDITION, edition_folder
from gpufleet.catalogue.instance import Price
from gpufleet.catalogue.overlay import Overlay
from gpufleet.catalogue.price_rows import PriceTable, overridden
from gpufleet.findings import Finding, FleetError, findings_in

_finding = findings_in(__file__)

OVERLAY_VARIABLE = "GPUFLEET_CATALOGUE_OVERLAY"
"""Environment variable with the path of an overlay, for all commands and programs."""


def load(
    edition: str = DEFAULT_EDITION,
    *,
    prices: PriceTable | Path | None = None,
    overlay: str | Path | None = None,
) -> Catalogue:
    """The catalogue of an edition; tables are parsed at first use.

    `prices` replaces prices of the edition: a file (`docs/catalogue.md` has the format), or parsed
    prices by instance type and purchase option. Default: the edition's own prices. `overlay` is a
    file or folder of the user's own facts, relative to the working directory; default: the path in
    the environment variable GPUFLEET_CATALOGUE_OVERLAY, else none. Without `prices` the same object
    is returned every time, as long as the files of the overlay stay the same.

    Raises UnknownEditionError for an unknown edition, FleetError with every problem of the overlay
    or price file at once, and OSError when the price file cannot be read.
    """
    own = overlay or os.environ.get(OVERLAY_VARIABLE)
    path = Path(own).absolute() if own else None
    base = _load(edition) if path is None else _with_overlay(edition, path, _state(path))
    if prices is None:
        return base
    if isinstance(prices, Path):
        # Only who overrides prices pays for importing the reader.
        from gpufleet.catalogue.price_overrides import read_price_overrides

        prices = read_price_overrides(prices, base)
    merged = overridden(base.overrides, prices)
    return Catalogue(edition, base.folder, merged, overlay=base.overlay)


@cache
def _load(edition: str) -> Catalogue:
    return Catalogue(edition, edition_folder(edition))


_State = tuple[tuple[str, int, int], ...]


def _state(path: Path) -> _State:
    """Names, times and sizes of the files of an overlay: another state is read again."""
    # Import the reader only for an overlay, to save import time.
    from gpufleet.catalogue.overlay_files import files_of

    known = ((file, file.stat()) for file in files_of(path))
    return tuple((file.name, stat.st_mtime_ns, stat.st_size) for file, stat in known)


@lru_cache(maxsize=4)
def _with_overlay(edition: str, path: Path, state: _State) -> Catalogue:
    del state  # a part of the key
    from gpufleet.catalogue.overlay_files import read_overlay

    folder = edition_folder(edition)
    overlay, findings = read_overlay(path)
    found = Catalogue(edition, folder, overlay=overlay)
    findings += _dangling(found, overlay)
    overrides, wrong = _prices(found, overlay)
    if findings or wrong:
        raise FleetError([*findings, *wrong], f"overlay {path}")
    return Catalogue(edition, folder, overrides, overlay=overlay)


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


def _prices(
    catalogue: Catalogue, overlay: Overlay
) -> tuple[dict[tuple[str, str], tuple[Price, ...]], list[Finding]]:
    """The overlay's prices, and the errors in them. Prices of rows with a problem are skipped."""
    # Only who overrides prices pays for importing the reader.
    from gpufleet.catalogue.price_overrides import read_price_list

    overrides: dict[tuple[str, str], tuple[Price, ...]] = {}
    findings: list[Finding] = []
    broken = overlay.named.get("instances", frozenset[str]()) - set(catalogue.instances)
    for name, document in overlay.prices:
        own, found = read_price_list(document, f"overlay:{name}", catalogue)
        overrides = overridden(overrides, own)
        findings += [
            one
            for one in found
            if one.severity == "error" and one.evidence.get("instance") not in broken
        ]
    return overrides, findings
