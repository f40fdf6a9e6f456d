"""First GKE releases with features of pools: rows of `version_floors.jsonl`, with their sources.

A declaration has a minor version, so only that is compared here; `gpufleet preflight` compares the
whole release of a cluster.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpufleet.catalogue import InstanceType
from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.source_rows import fact_of
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.spec.pool import Fabric

_finding = findings_in(__file__)

_RELEASE = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Floor:
    """The first release with a feature."""

    release: str
    """`1.34.1-gke.1829001`."""
    field: str
    """Field that declares it, after the pool's path."""
    what: str
    later: tuple[str, ...] = ()
    """First releases of later minor versions, if they got it in a separate release."""

    @property
    def releases(self) -> str:
        """All of them, for messages."""
        return " or ".join((self.release, *self.later))

    def of(self, version: str) -> str:
        """The one that applies to a cluster's release."""
        minor = release(version)[:2]
        return next((one for one in self.later if release(one)[:2] == minor), self.release)

    def is_below(self, version: str) -> bool:
        """Whether a cluster's release does not have it yet."""
        return release(version) < release(self.of(version))


_ROWS = read_rows(Path(__file__).parent, "version_floors")
FLOORS: Mapping[str, Floor] = {
    row["of"]: fact_of(Floor, row) for row in _ROWS if "machines" not in row
}
"""Feature of a pool -> its floor."""


def _of_machines(of: str) -> dict[str, Floor]:
    return {row["machines"]: fact_of(Floor, row) for row in _ROWS if row["of"] == of}


SERIES = _of_machines("series")
"""Prefix of a machine type -> its floor."""
RDMA = _of_machines("rdma")
"""The same, with GPUDirect RDMA."""
DEFAULT_DRIVER = _of_machines("default_driver")
"""The same, with the driver that GKE installs by default."""


def floors(pool: Pool) -> Iterator[Floor]:
    """The floors of all features of a pool."""
    shape, row = gke_shape(pool), pool.machines[0].instance
    mig = pool.spec.sharing.mig
    if shape.automatic_networks:
        yield FLOORS["automatic"]
    if auto_created(pool):
        yield FLOORS["auto_created"]
    elif shape.fallback_order:
        yield FLOORS["ladder"]
    if any(step.flex_start for step in shape.steps):
        yield FLOORS["tpu_flex_start"] if is_tpu(pool) else FLOORS["flex_start"]
    if shape.options.confidential:
        yield FLOORS["confidential"]
    if row is not None and row.family == "tpu7x":
        yield FLOORS["ironwood"]
    if row is not None and not shape.operator and shape.options.driver_version == "default":
        yield from (one for start, one in DEFAULT_DRIVER.items() if row.name.startswith(start))
    if row is not None:
        yield from _of_machine(row, rdma=pool.fabric is Fabric.RDMA)
    kubelet = pool.spec.kubelet
    if kubelet is not None and kubelet.topology_manager is not None:
        yield FLOORS["topology"]
    if kubelet is not None and kubelet.memory_manager is not None:
        yield FLOORS["memory"]
    if shape.operator:
        return
    if not is_tpu(pool):
        yield FLOORS["driver"]
    if pool.partition.mode == "timeSlicing" or (mig is not None and bool(mig.time_slicing)):
        yield FLOORS["time_sharing"]
    if pool.partition.mode == "mps":
        yield FLOORS["mps"]


def _of_machine(row: InstanceType, *, rdma: bool) -> Iterator[Floor]:
    if row.family == "g4":
        yield FLOORS["g4_parts"] if row.fractional else FLOORS["g4"]
    for table in (SERIES, RDMA) if rdma else (SERIES,):
        yield from (floor for start, floor in table.items() if row.name.startswith(start))


def release(version: str) -> tuple[int, ...]:
    """`1.34.1-gke.1829001` as numbers for comparison; missing parts count as 0."""
    found = _RELEASE.match(version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def validate_floors(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """Features that the declared minor version of the cluster cannot have yet. Networks that GKE
    creates are validated with their other rules."""
    for floor in floors(pool):
        if (
            floor is not FLOORS["automatic"]
            and release(kubernetes_version) < release(floor.release)[:2]
        ):
            yield _finding(
                "gke-version-too-old",
                f"{pool.path}.{floor.field}",
                what=floor.what,
                releases=floor.releases,
                found=kubernetes_version,
                limit=floor.release,
            )
