"""Lines of instances-*.jsonl and spot-advisor-aws.jsonl -> InstanceType rows."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import AWS, Accelerator, HostLimit, InstanceType, Price
from gpufleet.catalogue.price_rows import ON_DEMAND, OTHER_OPTIONS, SPOT, PriceTable, unknown_price
from gpufleet.catalogue.source_rows import SourceTable, fact_of, source_of

MIB = 2**20
GIB = 2**30
GB = 10**9


def instance_rows(
    cloud: str,
    rows: Iterable[RawRow],
    prices: PriceTable,
    advisor: Iterable[RawRow],
    sources: SourceTable,
) -> dict[str, InstanceType]:
    """The instance types of one cloud by name, in the order of the file."""
    advice = {raw["instance"]: raw for raw in advisor}
    return {
        raw["name"]: _instance(cloud, raw, prices, advice.get(raw["name"]), sources) for raw in rows
    }


def _instance(
    cloud: str,
    raw: RawRow,
    prices: PriceTable,
    advice: RawRow | None,
    sources: SourceTable,
) -> InstanceType:
    source = source_of(raw, sources)
    network = raw.get("network_gbps")

    def price(option: str) -> Price:
        known = prices.get((raw["name"], option))
        return known[0] if known else unknown_price(source)

    return fact_of(
        InstanceType,
        raw,
        source=source,
        cloud=cloud,
        memory_bytes=_bytes(raw, "memory_gib", GIB),
        accelerator=_accelerator(raw),
        network_gbps=None if network is None else Decimal(network),
        efa_interfaces=raw.get("efa_interfaces") if cloud == AWS else 0,
        local_nvme_bytes=_bytes(raw, "local_nvme_gb", GB)
        if cloud == AWS
        else _bytes(raw, "local_ssd_gib", GIB),
        on_demand=price(ON_DEMAND),
        spot=price(SPOT),
        purchase_options=frozenset(raw.get("buy", ())),
        spot_interruption=advice["interruption"] if advice else None,
        spot_saving_percent=advice["saving_percent"] if advice else None,
        spot_advisor_region=advice["region"] if advice else None,
        spot_advisor_source=source_of(advice, sources) if advice else None,
        other_prices=frozen(
            {
                option: prices[raw["name"], option][0]
                for option in OTHER_OPTIONS
                if (raw["name"], option) in prices
            }
        ),
        host_limit=_host_limit(raw.get("host_limit")),
    )


def _accelerator(raw: RawRow) -> Accelerator:
    return fact_of(
        Accelerator,
        raw,
        fraction=Fraction(raw.get("fraction", 1)),
        memory_bytes=_bytes(raw, "device_mib", MIB),
        nominal_gb=raw.get("device_gb"),
    )


def _host_limit(raw: Mapping[str, int] | None) -> HostLimit | None:
    return None if raw is None else HostLimit(raw["vcpu"], raw["memory_gb"] * GB)


def _bytes(raw: RawRow, name: str, unit: int) -> int | None:
    value = raw.get(name)
    return None if value is None else round(value * unit)
