"""Lines of prices-*.jsonl -> prices by instance and purchase option."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.instance import MICRO_USD, InstanceType, Price, PriceStatus
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
    rows: Iterable[RawRow], sources: SourceTable, *, first: bool = False
) -> dict[tuple[str, str], tuple[Price, ...]]:
    """All prices of a file, in its order, or only the `first` of each machine type and option. A
    line without `offer` is priced."""
    table: dict[tuple[str, str], tuple[Price, ...]] = {}
    for raw in rows:
        key = (raw["instance"], raw["buy"])
        if not first or key not in table:
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


# Prices of machines of Google's N1 family with GPUs attached: the GPUs' and the machine's.

HOST = "n1-standard-8"
"""The machine that the table has. `n1-standard` types cost the same for each vCPU."""
_HOSTS = re.compile(r"n1-standard-([1-9]\d{0,2})")
_HOST_CPUS = 8

AttachedPrices = Mapping[tuple[str, str], tuple[Mapping[str, int], Source]]
"""(accelerator or machine type, purchase option) -> micro-dollars by region, and the source."""


def attached_table(rows: Iterable[RawRow], sources: SourceTable) -> AttachedPrices:
    """Lines of attached-gcp.jsonl."""
    return {
        (raw["what"], raw["buy"]): (
            {region: micro_usd(usd) for region, usd in raw["usd"].items()},
            source_of(raw, sources),
        )
        for raw in rows
    }


def with_host(
    row: InstanceType, host: str, table: AttachedPrices, region: str | None, *, estimate: bool
) -> InstanceType:
    """The row of attached GPUs with the price of them and of the machine together.

    Unknown for machines other than `n1-standard`, and where one of both prices is not known in the
    region (`estimate`: as of the region in which both are).
    """
    found = _HOSTS.fullmatch(host)
    if found is None:
        return row
    cpus = int(found[1])
    prices = {option: _together(row, cpus, option, table) for option in (ON_DEMAND, SPOT)}

    def price(option: str, unknown: Price) -> Price:
        known = prices[option]
        if not known:
            return unknown
        return known[0] if region is None else price_in_region(known, region, estimate=estimate)

    on_demand, spot = price(ON_DEMAND, row.on_demand), price(SPOT, row.spot)
    return replace(row, on_demand=on_demand, spot=spot)


def regions(row: InstanceType, option: str, table: AttachedPrices) -> set[str]:
    """Regions in which both the GPUs and the machine have a price."""
    gpus = table.get((row.gke_accelerator_type or "", option))
    host = table.get((HOST, option))
    return set() if gpus is None or host is None else gpus[0].keys() & host[0].keys()


def _together(
    row: InstanceType, cpus: int, option: str, table: AttachedPrices
) -> tuple[Price, ...]:
    gpus = table.get((row.gke_accelerator_type or "", option))
    host = table.get((HOST, option))
    count = row.accelerator.count
    if gpus is None or host is None or count is None:
        return ()
    (each, source), (machine, own) = gpus, host
    return tuple(
        Price(
            PriceStatus.PRICED,
            count * each[region] + round(machine[region] * cpus / _HOST_CPUS),
            region,
            source,
            notes=f"{count} GPUs and {cpus} vCPUs of n1-standard ({own.key}, {own.date})",
        )
        for region in each
        if region in machine
    )
