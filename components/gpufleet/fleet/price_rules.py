"""Region and age of the prices of a fleet, and their effect on its spend.

A price applies to one region. If the catalogue has none for the cluster's region, `prices` of the
declaration decides: `strict` uses none, `estimate` uses the price of another region and reports it,
but not across partitions: GovCloud and China have separate price lists.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.instance import InstanceType, Price
from gpufleet.catalogue.price_rows import partition
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)

PRICE_AGE_DAYS = {"spot": 120}
"""Age in days from which a price of this purchase option is too old: spot prices change."""
DEFAULT_PRICE_AGE_DAYS = 365
"""The same for list prices. Both limits are ours: no cloud publishes the validity of a price."""


def regional_catalogue(spec: FleetSpec, platform: PlatformValue, catalogue: Catalogue) -> Catalogue:
    """The catalogue with the prices of the cluster's region, according to `prices`."""
    if platform.facts.cloud is None and not platform.facts.any_seller:
        return catalogue
    return catalogue.in_region(spec.cluster.region, estimate=not spec.strict_prices)


def price_region(pool: Pool) -> str | None:
    """Region of the list price that is used for the pool; None if there is none, or if the
    declaration has the price."""
    row, wanted = pool.machines[0].instance, pool.capacity[0]
    option = None if row is None else _listed_option(row, wanted)
    if row is None or option is None:
        return None
    price = row.price(option)
    return price.region if price.micro_usd_per_hour is not None else None


def _listed_option(row: InstanceType, wanted: Capacity) -> str | None:
    """The purchase option whose list price applies; None if the declaration has the price."""
    if wanted.on_prem is not None or wanted.capacity_block is not None:
        return None
    if wanted.flex_start and row.price("flexStart").micro_usd_per_hour is not None:
        return "flexStart"
    return "spot" if wanted.spot is not None else "onDemand"


def _listed(pool: Pool) -> Iterator[tuple[InstanceType, str, Price]]:
    """Each list price in the pool's spend."""
    for machine in pool.machines:
        row = machine.instance
        options = () if row is None else (_listed_option(row, one) for one in pool.capacity)
        for option in dict.fromkeys(options):
            if row is not None and option is not None:
                yield row, option, row.price(option)


def validate_prices(
    spec: FleetSpec,
    platform: PlatformValue,
    pools: Sequence[Pool],
    catalogue: Catalogue,
    as_of: date,
) -> list[Finding]:
    """Prices of another region, prices that are not known in the region, and old prices."""
    region = spec.cluster.region
    found: list[Finding] = []
    if region is not None and platform.facts.cloud is not None:
        found += _elsewhere(region, pools)
        found += _unknown_here(region, pools, catalogue)
    return [*found, *_old(pools, as_of)]


def _elsewhere(region: str, pools: Sequence[Pool]) -> Iterable[Finding]:
    named = [(pool.name, price.region) for pool in pools for _, _, price in _listed(pool)]
    others = {name: place for name, place in named if place is not None and place != region}
    if others:
        where = ", ".join(sorted(set(others.values())))
        yield _finding("price-of-other-region", found=region, pools=list(others), region=where)


def _unknown_here(region: str, pools: Sequence[Pool], catalogue: Catalogue) -> Iterable[Finding]:
    missing: dict[str, None] = {}
    known: set[str] = set()
    names: dict[str, None] = {}
    for pool in pools:
        for row, option, price in _listed(pool):
            regions = _priced_regions(row, option, price, catalogue)
            if price.micro_usd_per_hour is None and regions:
                listed = f" ({price.notes})" if price.region == region else ""
                missing[f"{row.name} as {option}{listed}"] = None
                known |= regions
                names[pool.name] = None
    own = partition(region)
    if missing:
        yield _finding(
            "price-unknown-in-region",
            fix=(
                "give your own with `--prices FILE` (docs/catalogue.md)"
                + (
                    f", or write `prices: estimate` to use that of {', '.join(sorted(known))}"
                    if own is None
                    else f": {own} has its own price list, and the price of "
                    f"{', '.join(sorted(known))} is never used for it"
                )
            ),
            found=region,
            missing=list(missing),
            pools=list(names),
            known=sorted(known),
        )


def _priced_regions(row: InstanceType, option: str, price: Price, catalogue: Catalogue) -> set[str]:
    """Regions in which the machine has a price. For GPUs that are attached to a machine without any
    price, the GPU's price has no note."""
    if row.attachable:
        return catalogue.attached_regions(row, option) if price.notes else set()
    others = catalogue.prices[row.cloud].get((row.name, option), ())
    priced = {other.region for other in others if other.micro_usd_per_hour is not None}
    return {region for region in priced if region is not None}


def _old(pools: Sequence[Pool], as_of: date) -> Iterable[Finding]:
    """One finding that names each price that is too old, once."""
    old: dict[str, int] = {}
    for pool in pools:
        for row, option, price in _listed(pool):
            days = (as_of - price.source.date).days
            limit = PRICE_AGE_DAYS.get(option, DEFAULT_PRICE_AGE_DAYS)
            if price.micro_usd_per_hour is not None and days > limit:
                old[f"{row.name} as {option} ({price.source.date})"] = days
    if old:
        yield _finding(
            "price-old",
            prices=list(old),
            spot_days=PRICE_AGE_DAYS["spot"],
            default_price_age_days=DEFAULT_PRICE_AGE_DAYS,
            days=max(old.values()),
            as_of=as_of.isoformat(),
        )
