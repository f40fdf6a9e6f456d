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
PURCHASE_OPTIONS = (ON_DEMAND, SPOT, *OTHER_OPTIONS)
"""Every purchase option an instance row may name."""
PriceTable = Mapping[tuple[str, str], Price]
"""(instance type, purchase option) -> price."""


def micro_usd(text: str) -> int:
    """A decimal figure in US dollars as micro-dollars.

    Raises ValueError for what is no finite figure below a trillion, and for digits below a
    micro-dollar.
    """
    try:
        dollars = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is no figure") from None
    if not dollars.is_finite() or dollars.adjusted() > 11:
        raise ValueError(f"{text!r} is no figure below a trillion")
    scaled = dollars * MICRO_USD
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"{text} USD has digits below a micro-dollar (6 decimals are kept)")
    return whole


def unknown_price(source: Source) -> Price:
    """The price of what no line speaks of."""
    return Price(PriceStatus.UNKNOWN, None, None, source)


def price_table(rows: Iterable[RawRow], sources: SourceTable) -> dict[tuple[str, str], Price]:
    """All prices of a file. A line without `offer` is priced."""
    return {(raw["instance"], raw["buy"]): _price(raw, source_of(raw, sources)) for raw in rows}


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
