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
    MigGeometry,
    MigProfile,
    Rates,
    VgpuBoard,
)
from gpufleet.catalogue.instance import AWS, Accelerator, HostLimit, InstanceType
from gpufleet.catalogue.price_rows import ON_DEMAND, OTHER_OPTIONS, SPOT, PriceTable, unknown_price
from gpufleet.catalogue.software_rows import capability_of
from gpufleet.catalogue.source_rows import SourceTable, fact_of, source_of, sourced

MIB = 2**20
GIGA = 10**9
TERA = 10**12


def vgpu_board(raw: RawRow, sources: SourceTable) -> VgpuBoard:
    """The vGPU types of a GPU."""
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


def gpu_of(
    parts: Mapping[str, Mapping[str, Any]], drivers: DriverTable, raw: RawRow, sources: SourceTable
) -> Gpu:
    """One GPU, with its rows of the tables `parts`, by the names of its fields."""
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
        **{name: table.get(raw["key"]) for name, table in parts.items()},
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


def instance_of(
    cloud: str,
    prices: PriceTable,
    advisor: Mapping[str, RawRow],
    raw: RawRow,
    sources: SourceTable,
) -> InstanceType:
    """One machine type of a cloud."""
    source, advice = source_of(raw, sources), advisor.get(raw["name"])
    known = {
        option: prices[raw["name"], option][0]
        for option in (ON_DEMAND, SPOT, *OTHER_OPTIONS)
        if (raw["name"], option) in prices
    }
    network, limit = raw.get("network_gbps"), raw.get("host_limit")
    local = ("local_nvme_gb", GB) if cloud == AWS else ("local_ssd_gib", GIB)
    return fact_of(
        InstanceType,
        raw,
        source=source,
        cloud=cloud,
        memory_bytes=_times(raw.get("memory_gib"), GIB),
        accelerator=_accelerator(raw),
        network_gbps=None if network is None else Decimal(network),
        efa_interfaces=raw.get("efa_interfaces") if cloud == AWS else 0,
        local_nvme_bytes=_times(raw.get(local[0]), local[1]),
        on_demand=known.pop(ON_DEMAND, None) or unknown_price(source),
        spot=known.pop(SPOT, None) or unknown_price(source),
        purchase_options=frozenset(raw.get("buy", ())),
        spot_interruption=advice["interruption"] if advice else None,
        spot_saving_percent=advice["saving_percent"] if advice else None,
        spot_advisor_region=advice["region"] if advice else None,
        spot_advisor_source=source_of(advice, sources) if advice else None,
        other_prices=frozen(known),
        host_limit=None if limit is None else HostLimit(limit["vcpu"], limit["memory_gb"] * GB),
    )


def _accelerator(raw: RawRow) -> Accelerator:
    return fact_of(
        Accelerator,
        raw,
        fraction=Fraction(raw.get("fraction", 1)),
        memory_bytes=_times(raw.get("device_mib"), MIB),
        nominal_gb=raw.get("device_gb"),
    )
