"""Lines of gpus.jsonl, mig.jsonl, vgpu.jsonl and idle-power.jsonl -> Gpu rows."""

from collections.abc import Iterable, Mapping
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
from gpufleet.catalogue.software_rows import capability_of
from gpufleet.catalogue.source_rows import SourceTable, sourced

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
