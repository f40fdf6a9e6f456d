"""Loading an edition: cached, so that everybody in one process shares the parsed rows."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from gpufleet.catalogue.catalogue import Catalogue
from gpufleet.catalogue.edition import DEFAULT_EDITION, edition_folder
from gpufleet.catalogue.instance import Price


def load(
    edition: str = DEFAULT_EDITION,
    *,
    prices: Mapping[tuple[str, str], Price] | Path | None = None,
) -> Catalogue:
    """The catalogue of an edition; tables are parsed when first asked for.

    `prices` replaces prices of the edition: a file (`docs/catalogue.md` has the format), or parsed
    prices by instance type and purchase option. Default: the edition's own prices. Without `prices`
    the same object is returned every time.

    Raises UnknownEditionError for an unknown edition, FleetError with every problem of the price
    file at once, and OSError when that file cannot be read.
    """
    base = _load(edition)
    if prices is None:
        return base
    if isinstance(prices, Path):
        # Only who overrides prices pays for importing the reader.
        from gpufleet.catalogue.price_overrides import read_price_overrides

        prices = read_price_overrides(prices, base)
    return Catalogue(edition, base.folder, dict(prices))


@cache
def _load(edition: str) -> Catalogue:
    return Catalogue(edition, edition_folder(edition))
