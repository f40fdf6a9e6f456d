"""Rules that no changed row may break; `tests/data` holds editions to the same."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from gpufleet.catalogue.catalogue import Catalogue
from tools.catalogue.difference import RowChange
from gpufleet.catalogue.instance import Price
from gpufleet.findings import Finding, error

FAR_OFF = 5
"""A price by more than this off the known one is of another unit, or of a part of the machine."""
_COUNTS = frozenset({1, 2, 4, 6, 8, 12, 16})
_GIB_PER_VCPU = (1, 40)


def implausible(changes: Iterable[RowChange], edition: Catalogue) -> Iterator[Finding]:
    """An error for each changed row that cannot be true."""
    changed = list(changes)
    new = {one.key: Decimal(one.row["usd"]) for one in changed if one.table.startswith("prices-")}
    for one in changed:
        if one.table.startswith("prices-"):
            reason = _price(one, edition, new)
        elif one.table.startswith("instances-"):
            reason = _shape(one)
        else:
            reason = None
        if reason is not None:
            name = " ".join(map(str, one.key))
            fix = "look into a second source, and write what is right into an overlay of yours"
            yield error("catalogue-implausible", f"{one.table}.{name}", reason, fix)


def _price(
    change: RowChange, edition: Catalogue, new: dict[tuple[str, ...], Decimal]
) -> str | None:
    cloud = change.table.removeprefix("prices-")
    name, buy, region = change.key
    usd = Decimal(change.row["usd"])
    known = _known(edition.prices[cloud].get((name, buy), ()), region)
    if known is not None and not known / FAR_OFF <= usd <= known * FAR_OFF:
        source = change.fields[0].source
        return f"{usd} USD an hour by {source} is more than {FAR_OFF} times off the known {known}"
    listed = new.get((name, "onDemand", region)) or _here(
        edition.prices[cloud].get((name, "onDemand"), ()), region
    )
    highest = Decimal(change.row.get("usd_high", change.row["usd"]))
    if buy == "spot" and listed is not None and highest > listed:
        return f"spot at {highest} USD an hour is above on demand, {listed}"
    return None


def _known(prices: tuple[Price, ...], region: str) -> Decimal | None:
    """The price of the region, else that of the reference region."""
    return _here(prices, region) or (prices[0].usd_per_hour if prices else None)


def _here(prices: tuple[Price, ...], region: str) -> Decimal | None:
    return next((one.usd_per_hour for one in prices if one.region == region), None)


def _shape(change: RowChange) -> str | None:
    row = change.row
    count = row.get("count")
    if count is not None and count not in _COUNTS:
        return f"{count} accelerators in one machine"
    vcpu, memory = row.get("vcpu"), row.get("memory_gib")
    least, most = _GIB_PER_VCPU
    if vcpu and memory and not least <= memory / vcpu <= most:
        return f"{memory} GiB for {vcpu} vCPU"
    return None
