"""Prices of machines of Google's N1 family with GPUs attached: the GPUs' and the machine's."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.instance import InstanceType, Price, PriceStatus
from gpufleet.catalogue.price_rows import ON_DEMAND, SPOT, micro_usd, price_in_region
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import SourceTable, source_of

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
