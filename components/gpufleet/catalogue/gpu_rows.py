"""Lines of gpus.jsonl, mig.jsonl and vgpu.jsonl -> Gpu rows."""

from collections.abc import Iterable, Mapping

from gpufleet.catalogue.driver_rows import capability_of
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
from gpufleet.catalogue.source_rows import SourceTable, source_of

MIB = 2**20
GIGA = 10**9
TERA = 10**12


def gpu_table(
    gpus: Iterable[RawRow],
    geometries: Mapping[str, MigGeometry],
    vgpu_boards: Mapping[str, VgpuBoard],
    drivers: DriverTable,
    sources: SourceTable,
) -> FrozenDict[str, Gpu]:
    """All GPUs by key, in the order of the file: oldest NVIDIA part first, other vendors last."""
    return frozen(
        {
            raw["key"]: _gpu(
                raw, geometries.get(raw["key"]), vgpu_boards.get(raw["key"]), drivers, sources
            )
            for raw in gpus
        }
    )


def vgpu_table(rows: Iterable[RawRow], sources: SourceTable) -> FrozenDict[str, VgpuBoard]:
    """The vGPU types of every GPU that has some, by GPU key."""
    return frozen({raw["gpu"]: _vgpu_board(raw, sources) for raw in rows})


def _vgpu_board(raw: RawRow, sources: SourceTable) -> VgpuBoard:
    mixed = raw.get("mixed_size")
    return VgpuBoard(
        names=tuple(raw["names"]),
        time_sliced=frozen({int(gb): most for gb, most in raw["time_sliced"].items()}),
        mig_backed=frozen(raw.get("mig_backed", {})),
        source=source_of(raw, sources),
        mixed_size=None if mixed is None else frozen({int(gb): n for gb, n in mixed.items()}),
        notes=raw.get("notes", ""),
    )


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
    return MigGeometry(
        compute_slices=raw["compute_slices"],
        memory_slots=raw["memory_slots"],
        profiles=frozen(profiles),
        balanced=frozen(raw["balanced"]),
        evidence=max((p.evidence for p in profiles.values()), key=EVIDENCE_ORDER.index),
        reset_needed=raw["reset_needed"],
        alternate_names=frozen(raw.get("alternate_names", {})),
        source=source_of(raw, sources),
        shape=raw["shape"],
        known=raw["known"],
        min_driver=raw.get("min_driver"),
        notes=raw.get("notes", ""),
    )


def _profile(raw: RawRow, sources: SourceTable) -> MigProfile:
    usable = raw.get("usable_mib")
    return MigProfile(
        name=raw["profile"],
        compute_slices=raw["compute_slices"],
        memory_slots=raw["memory_slots"],
        starts=tuple(raw["starts"]),
        max_instances=raw["max_instances"],
        nominal_gb=raw["nominal_gb"],
        usable_bytes=None if usable is None else usable * MIB,
        multiprocessors=raw.get("multiprocessors"),
        engines=frozen(raw.get("engines", {})),
        evidence=Evidence(raw["evidence"]),
        source=source_of(raw, sources),
        min_driver=raw.get("min_driver"),
        profile_id=raw["id"],
        figures_source=raw.get("figures_source"),
        notes=raw.get("notes", ""),
    )


def _gpu(
    raw: RawRow,
    mig: MigGeometry | None,
    vgpu: VgpuBoard | None,
    drivers: DriverTable,
    sources: SourceTable,
) -> Gpu:
    rates = frozen({board: _rates(line) for board, line in raw.get("boards", {}).items()})
    first = next(iter(rates.values()), None)
    mib = raw.get("memory_mib")
    boards = raw.get("pci", {})
    capability = capability_of(raw.get("compute_capability"))
    return Gpu(
        key=raw["key"],
        name=raw["name"],
        vendor=raw["vendor"],
        architecture=raw["architecture"],
        compute_capability=capability,
        nominal_gb=raw.get("nominal_gb"),
        memory_bytes=None if mib is None else mib * MIB,
        product_names=tuple(raw.get("product_names", ())),
        pci_device_ids=tuple(boards),
        rates=rates,
        tdp_watts=first.tdp_watts if first else None,
        nvlink_bytes_per_second=first.nvlink_bytes_per_second if first else 0,
        mig=mig,
        mps_max_clients=raw["mps_max_clients"],
        source=source_of(raw, sources),
        mig_unknown=raw.get("mig_unknown"),
        mig_published=frozen(raw.get("mig_published", {})),
        pci_boards=frozen(boards),
        vgpu=vgpu,
        generation=None if capability is None else drivers.generations.get(capability),
        support=drivers.gpus.get(raw["key"]),
        cores=raw.get("cores"),
        aliases=tuple(raw.get("aliases", ())),
        karpenter_name=raw.get("karpenter_name"),
        notes=raw.get("notes", ""),
    )


def _rates(line: RawRow) -> Rates:
    def operations(name: str) -> int | None:
        tera = line.get(name)
        return None if tera is None else round(tera * TERA)

    return Rates(
        memory_bandwidth=line["gbs"] * GIGA if "gbs" in line else None,
        tf32=operations("tf32"),
        bf16=operations("bf16"),
        fp16=operations("fp16"),
        fp8=operations("fp8"),
        int8=operations("int8"),
        fp4=operations("fp4"),
        tdp_watts=line.get("tdp"),
        nvlink_bytes_per_second=line.get("nvlink_gbs", 0) * GIGA,
        nvlink_bridge=line.get("nvlink_bridge", False),
    )
