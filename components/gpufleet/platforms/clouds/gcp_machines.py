"""Machine types, boot disks and zones of Google Cloud, for every creator of machines."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpufleet.catalogue import InstanceType
from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.google_zones import is_zone_of, nearest_zone
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool

_finding, _rules = findings_in(__file__), rules_in(__file__)

_HOST = re.compile(r"^n1-(standard|highmem|highcpu)-[0-9]+$")

BOOT_DISKS: Mapping[str, tuple[str, ...]] = {
    row["family"]: tuple(row["disks"]) for row in read_rows(Path(__file__).parent, "gcp_boot_disks")
}
"""Family, or series if one differs -> supported types of boot disk, our default first (GKE's
autoscaler, machine families; cluster-toolkit `examples/gke-a4`, `gke-a4x`; Google Compute Engine
machine families, all read 2026-11-21; TPUs: cloud.google.com/tpu/docs/setup-persistent-disk, which
ends with v6e, read 2026-11-22)."""

ASSUMED_BOOT_DISKS = frozenset({"tpu7x"})
"""Families whose boot disk is not published: that of the previous generation is assumed."""

N1_SIZES = (1, 2, 4, 8, 16, 32, 64, 96)
"""vCPUs of the predefined N1 machines (Google Compute Engine machine families)."""

_SMALLEST_OF_OTHERS = 2


def host_machine(pool: Pool) -> str | None:
    """The N1 machine for attached GPUs, from `instanceTypes`."""
    row = pool.machines[0].instance
    named = [name for name in pool.spec.instance_types if _HOST.match(name)]
    return named[0] if row is not None and row.attachable and named else None


def boot_disks(row: InstanceType) -> tuple[str, ...]:
    """Types of boot disk of a machine; empty if not sourced."""
    series = "-".join(row.name.split("-")[:2])
    return BOOT_DISKS.get(series) or BOOT_DISKS.get(row.family, ())


def validate_host(pool: Pool, row: InstanceType) -> Iterable[Finding]:
    """The N1 machine for attached GPUs."""
    host = host_machine(pool)
    odd = [name for name in pool.spec.instance_types if name.startswith("n1-") and "*" not in name]
    limit = row.host_limit
    known = {
        "unknown": next((name for name in odd if not _is_n1(name)), None),
        "host": host,
        "vcpu": None if host is None else int(host.rsplit("-", 1)[-1]),
        "largest": limit and max(size for size in N1_SIZES if size <= limit.vcpu),
        "sizes": ", -".join(map(str, N1_SIZES)),
    }
    yield from _rules("host", pool.path, pool=pool, row=row, **known)


def validate_zone_names(named: Iterable[tuple[str, str]], region: str | None) -> Iterable[Finding]:
    """Zones with their places in the declaration."""
    for place, zone in named:
        fits = is_zone_of(zone, region)
        if fits is None:
            yield _finding(
                "zone-unknown/google", place, found=zone, nearest_zone=nearest_zone(zone, region)
            )
        elif not fits:
            yield _finding("zone-not-of-region", place, found=zone, region=region)


def _is_n1(name: str) -> bool:
    series, _, size = name.rpartition("-")
    smallest = {
        "n1-standard": 1,
        "n1-highmem": _SMALLEST_OF_OTHERS,
        "n1-highcpu": _SMALLEST_OF_OTHERS,
    }.get(series)
    return smallest is not None and size in {str(n) for n in N1_SIZES if n >= smallest}
