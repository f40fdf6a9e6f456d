"""Lines of instances-*.jsonl and spot-advisor-aws.jsonl -> InstanceType rows."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import Accelerator, Cloud, HostLimit, InstanceType, Price
from gpufleet.catalogue.price_rows import ON_DEMAND, OTHER_OPTIONS, SPOT, PriceTable, unknown_price
from gpufleet.catalogue.source_rows import SourceTable, source_of

MIB = 2**20
GIB = 2**30
GB = 10**9


def instance_rows(
    cloud: Cloud,
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
    cloud: Cloud,
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

    return InstanceType(
        name=raw["name"],
        cloud=cloud,
        family=raw["family"],
        architecture=raw["architecture"],
        vcpu=raw.get("vcpu"),
        memory_bytes=_bytes(raw, "memory_gib", GIB),
        accelerator=_accelerator(raw),
        network_gbps=None if network is None else Decimal(network),
        network_cards=raw.get("network_cards"),
        efa_interfaces=raw.get("efa_interfaces") if cloud is Cloud.AWS else 0,
        efa_cards=tuple(raw["efa_cards"]) if "efa_cards" in raw else None,
        local_nvme_bytes=_bytes(raw, "local_nvme_gb", GB)
        if cloud is Cloud.AWS
        else _bytes(raw, "local_ssd_gib", GIB),
        on_demand=price(ON_DEMAND),
        spot=price(SPOT),
        purchase_options=frozenset(raw.get("buy", ())),
        gke_accelerator_type=raw.get("gke_accelerator_type"),
        attachable=raw.get("attachable", False),
        gpudirect=raw.get("gpudirect"),
        gke_partition_sizes=frozen(raw.get("gke_partition_sizes", {})),
        spot_interruption=advice["interruption"] if advice else None,
        notes=raw.get("notes", ""),
        source=source,
        spot_saving_percent=advice["saving_percent"] if advice else None,
        spot_advisor_region=advice["region"] if advice else None,
        spot_advisor_source=source_of(advice, sources) if advice else None,
        nic_layout=raw.get("nic_layout"),
        other_prices=frozen(
            {
                option: prices[raw["name"], option][0]
                for option in OTHER_OPTIONS
                if (raw["name"], option) in prices
            }
        ),
        local_ssd_in_price=raw.get("local_ssd_in_price"),
        host_limit=_host_limit(raw.get("host_limit")),
    )


def _accelerator(raw: RawRow) -> Accelerator:
    return Accelerator(
        gpu=raw["gpu"],
        count=raw.get("count"),
        fraction=Fraction(raw.get("fraction", 1)),
        memory_bytes=_bytes(raw, "device_mib", MIB),
        interconnect=raw.get("interconnect"),
        api_count=raw.get("api_count"),
        nominal_gb=raw.get("device_gb"),
    )


def _host_limit(raw: Mapping[str, int] | None) -> HostLimit | None:
    return None if raw is None else HostLimit(raw["vcpu"], raw["memory_gb"] * GB)


def _bytes(raw: RawRow, name: str, unit: int) -> int | None:
    value = raw.get(name)
    return None if value is None else round(value * unit)
