"""Lines of prices-*.jsonl -> prices by instance and purchase option."""

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.instance import MICRO_USD, Price, PriceStatus
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import SourceTable, source_of

ON_DEMAND = "onDemand"
SPOT = "spot"
OTHER_OPTIONS = ("reserved", "capacityBlock", "flexStart", "queued")
PriceTable = Mapping[tuple[str, str], tuple[Price, ...]]
"""(instance type, purchase option) -> its prices, one per region; the first is the reference."""


def micro_usd(text: str) -> int:
    """A decimal figure in US dollars as micro-dollars.

    Raises ValueError for anything except a finite figure below a trillion, and for digits below a
    micro-dollar.
    """
    try:
        dollars = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a figure") from None
    if not dollars.is_finite() or dollars.adjusted() > 11:
        raise ValueError(f"{text!r} is not a figure below a trillion")
    scaled = dollars * MICRO_USD
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"{text} USD has digits below a micro-dollar (6 decimals are kept)")
    return whole


def unknown_price(source: Source) -> Price:
    """The price of an option without a line."""
    return Price(PriceStatus.UNKNOWN, None, None, source)


def price_table(
    rows: Iterable[RawRow], sources: SourceTable
) -> dict[tuple[str, str], tuple[Price, ...]]:
    """All prices of a file, in its order. A line without `offer` is priced."""
    table: dict[tuple[str, str], tuple[Price, ...]] = {}
    for raw in rows:
        key = (raw["instance"], raw["buy"])
        table[key] = (*table.get(key, ()), _price(raw, source_of(raw, sources)))
    return table


def overridden(
    table: PriceTable, overrides: PriceTable
) -> dict[tuple[str, str], tuple[Price, ...]]:
    """A table in which the overrides come first and replace the prices of their regions. An
    override without a region (not sold, or unknown) replaces all."""
    merged = dict(table)
    for key, own in overrides.items():
        replaced = {price.region for price in own}
        rest = () if None in replaced else table.get(key, ())
        merged[key] = (*own, *(price for price in rest if price.region not in replaced))
    return merged


_PARTITIONS = {
    "us-gov-": "GovCloud",
    "cn-": "China",
    "eusc-": "the European Sovereign Cloud",
    "us-iso": "an isolated partition",
    "eu-iso": "an isolated partition",
}


def partition(region: str) -> str | None:
    """AWS partition with its own price list, in China also with its own currency (partitions of
    botocore's endpoint table, read 2026-11-21); None for all other regions of any cloud."""
    return next((name for start, name in _PARTITIONS.items() if region.startswith(start)), None)


def price_in_region(prices: tuple[Price, ...], region: str, *, estimate: bool) -> Price:
    """The price that counts in a region.

    `estimate`: where the region has none, the reference price with its own region, but never across
    partitions; otherwise the price is unknown there. Options that are not sold, or have no known
    price anywhere, stay so.
    """
    here = next((price for price in prices if price.region == region), None)
    if here is not None:
        return here
    reference = prices[0]
    of_one_list = reference.region is None or partition(reference.region) == partition(region)
    if (estimate and of_one_list) or reference.micro_usd_per_hour is None:
        return reference
    listed = ", ".join(sorted({price.region for price in prices if price.region is not None}))
    return Price(
        PriceStatus.UNKNOWN,
        None,
        None,
        reference.source,
        notes=f"no price of {region}; known are {listed}",
    )


def _price(raw: RawRow, source: Source) -> Price:
    def money(name: str) -> int | None:
        return micro_usd(raw[name]) if name in raw else None

    return Price(
        offer=PriceStatus(raw.get("offer", "priced")),
        micro_usd_per_hour=money("usd"),
        region=raw.get("region"),
        source=source,
        high_micro_usd_per_hour=money("usd_high"),
        list_micro_usd_per_hour=money("list_usd"),
        notes=raw.get("notes", ""),
    )
