"""Lines of gpus.jsonl, mig.jsonl, vgpu.jsonl and idle-power.jsonl -> Gpu rows."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from gpufleet.catalogue.driver_support import DriverTable
from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.gpu import (
    EVIDENCE_ORDER,
    Evidence,
    Gpu,
    IdlePower,
    MigGeometry,
    MigProfile,
    Rates,
    VgpuBoard,
)
from gpufleet.catalogue.instance import AWS, Accelerator, HostLimit, InstanceType, Price
from gpufleet.catalogue.price_rows import ON_DEMAND, OTHER_OPTIONS, SPOT, PriceTable, unknown_price
from gpufleet.catalogue.software_rows import capability_of
from gpufleet.catalogue.source_rows import SourceTable, fact_of, source_of, sourced

MIB = 2**20
GIGA = 10**9
TERA = 10**12


def gpu_table(
    gpus: Iterable[RawRow],
    geometries: Mapping[str, MigGeometry],
    vgpu_boards: Mapping[str, VgpuBoard],
    idle: Iterable[RawRow],
    drivers: DriverTable,
    sources: SourceTable,
) -> FrozenDict[str, Gpu]:
    """All GPUs by key, in the order of the file: oldest NVIDIA part first, other vendors last."""
    power = {raw["gpu"]: sourced(IdlePower, raw, sources) for raw in idle}

    def parts(key: str) -> dict[str, Any]:
        tables = {"mig": geometries, "vgpu": vgpu_boards, "idle": power}
        return {name: table.get(key) for name, table in tables.items()}

    return frozen({raw["key"]: _gpu(raw, parts(raw["key"]), drivers, sources) for raw in gpus})


def vgpu_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, VgpuBoard]:
    """The vGPU types of every GPU that has some, by GPU key."""
    return frozen({raw["gpu"]: _vgpu_board(raw, sources) for raw in rows})


def _vgpu_board(raw: RawRow, sources: SourceTable) -> VgpuBoard:
    mixed = raw.get("mixed_size")
    own = {} if mixed is None else {"mixed_size": frozen({int(gb): n for gb, n in mixed.items()})}
    return sourced(VgpuBoard, raw, sources, **own)


def mig_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, MigGeometry]:
    """All known MIG geometries by GPU key. A line with `profile` belongs to the GPU it names."""
    heads: dict[str, RawRow] = {}
    profiles: dict[str, dict[str, MigProfile]] = {}
    for raw in rows:
        if "profile" in raw:
            profiles[raw["gpu"]][raw["profile"]] = _profile(raw, sources)
        else:
            heads[raw["gpu"]] = raw
            profiles[raw["gpu"]] = {}
    return frozen({key: _geometry(raw, profiles[key], sources) for key, raw in heads.items()})


def _geometry(raw: RawRow, profiles: Mapping[str, MigProfile], sources: SourceTable) -> MigGeometry:
    evidence = max((p.evidence for p in profiles.values()), key=EVIDENCE_ORDER.index)
    return sourced(MigGeometry, raw, sources, profiles=frozen(profiles), evidence=evidence)


def _profile(raw: RawRow, sources: SourceTable) -> MigProfile:
    return sourced(
        MigProfile,
        raw,
        sources,
        name=raw["profile"],
        usable_bytes=_times(raw.get("usable_mib"), MIB),
        evidence=Evidence(raw["evidence"]),
        profile_id=raw["id"],
    )


def _gpu(raw: RawRow, parts: Mapping[str, Any], drivers: DriverTable, sources: SourceTable) -> Gpu:
    rates = frozen({board: _rates(line) for board, line in raw.get("boards", {}).items()})
    first = next(iter(rates.values()), None)
    boards = raw.get("pci", {})
    capability = capability_of(raw.get("compute_capability"))
    return sourced(
        Gpu,
        raw,
        sources,
        compute_capability=capability,
        memory_bytes=_times(raw.get("memory_mib"), MIB),
        pci_device_ids=tuple(boards),
        rates=rates,
        tdp_watts=first.tdp_watts if first else None,
        nvlink_bytes_per_second=first.nvlink_bytes_per_second if first else 0,
        pci_boards=frozen(boards),
        generation=None if capability is None else drivers.generations.get(capability),
        support=drivers.gpus.get(raw["key"]),
        **parts,
    )


def _rates(line: RawRow) -> Rates:
    formats = ("tf32", "bf16", "fp16", "fp8", "int8", "fp4")
    return Rates(
        memory_bandwidth=_times(line.get("gbs"), GIGA),
        **{name: _times(line.get(name), TERA) for name in formats},
        tdp_watts=line.get("tdp"),
        nvlink_bytes_per_second=line.get("nvlink_gbs", 0) * GIGA,
        nvlink_bridge=line.get("nvlink_bridge", False),
    )


def _times(value: float | None, unit: int) -> int | None:
    return None if value is None else round(value * unit)


# Lines of instances-*.jsonl and spot-advisor-aws.jsonl -> InstanceType rows.

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
