"""First GKE releases that have what pools use (GKE and provider documentation, read 2026-11-21;
TPU7x: docs.cloud.google.com kubernetes-engine/docs/concepts/tpu-ironwood, read 2026-11-22).

A declaration names a minor version, so only that is compared here; `gpufleet preflight` compares
the whole release that a cluster runs.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpufleet.catalogue import InstanceType
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.auto_class import auto_created
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.spec.pool import Fabric

_RELEASE = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Floor:
    """The first release that has something."""

    release: str
    """`1.34.1-gke.1829001`."""
    field: str
    """What declares it, behind the pool's path."""
    what: str
    later: tuple[str, ...] = ()
    """First releases of later minor versions, where those got it by a release of their own."""

    @property
    def releases(self) -> str:
        """All of them as sentences name them."""
        return " or ".join((self.release, *self.later))

    def of(self, version: str) -> str:
        """The one that holds for a cluster's release."""
        minor = release(version)[:2]
        return next((one for one in self.later if release(one)[:2] == minor), self.release)

    def is_below(self, version: str) -> bool:
        """Whether a cluster's release has it not yet."""
        return release(version) < release(self.of(version))


AUTOMATIC = Floor(
    "1.34.1-gke.1829001", "gke.acceleratorNetworkProfile", "networks that GKE makes by itself"
)
LADDER = Floor("1.30.3-gke.1451000", "capacity", "a ComputeClass over several ways of buying")
AUTO_CREATED = Floor(
    "1.33.3-gke.1136000", "provisioner", "node pools that GKE makes for a ComputeClass"
)
"""Without node auto-provisioning of the whole cluster (GKE documentation, about custom compute
classes, read 2026-11-23)."""
DRIVER = Floor("1.30.1-gke.1156000", "gke.driver", "GKE's own installation of the driver")
TIME_SHARING = Floor("1.23.7-gke.1400", "sharing", "time-sharing of GPUs")
MPS = Floor("1.27.7-gke.1088000", "sharing.mps", "NVIDIA MPS")
FLEX_START = Floor("1.32.2-gke.1652000", "capacity", "flex start of GPUs")
"""GKE documentation, concepts/dws, read 2026-11-23; the same for `TPU_FLEX_START`."""
TPU_FLEX_START = Floor("1.33.0-gke.1712000", "capacity", "flex start of TPUs")
TOPOLOGY = Floor("1.32.3-gke.1785000", "kubelet.topologyManager", "the topology manager")
MEMORY = Floor("1.32.3-gke.1785000", "kubelet.memoryManager", "the memory manager")
"""GKE release notes, new options of the node system configuration; read 2026-11-23."""
IRONWOOD = Floor("1.34.0-gke.2201000", "instanceTypes", "TPU7x")
G4 = Floor("1.32.11-gke.1174000", "instanceTypes", "G4")
"""GoogleCloudPlatform/cluster-toolkit 1047080 `examples/gke-g4/README.md`. GKE documentation,
how-to/gpus, read 2026-11-28, says 1.34.0-gke.1662000: the lower of the two holds here."""
G4_PARTS = Floor(
    "1.34.5-gke.1153000", "instanceTypes", "a part of a G4 GPU", later=("1.35.2-gke.1485000",)
)
"""GKE documentation, how-to/gpus, read 2026-11-28; cluster-toolkit names that of 1.35 alone."""
SERIES = {
    "a4-": Floor("1.32.1-gke.1729000", "instanceTypes", "A4"),
    "a4x-highgpu-": Floor(
        "1.32.8-gke.1108000", "instanceTypes", "A4X", later=("1.33.4-gke.1036000",)
    ),
    "a4x-maxgpu-": Floor(
        "1.34.3-gke.1318000", "instanceTypes", "A4X Max", later=("1.35.0-gke.2745000",)
    ),
}
"""Beginning of a machine type -> its floor (AI Hypercomputer documentation, requirements of an
AI-optimized GKE cluster, read 2026-11-28; the same for `RDMA`)."""
RDMA = {
    "a3-ultragpu-": Floor("1.31.4-gke.1183000", "fabric", "GPUDirect RDMA on A3 Ultra"),
    "a4-": Floor("1.32.2-gke.1475000", "fabric", "GPUDirect RDMA on A4"),
}


def floors(pool: Pool) -> Iterator[Floor]:
    """Of everything a pool uses, the first release that has it."""
    shape, row = gke_shape(pool), pool.machines[0].instance
    mig = pool.spec.sharing.mig
    if shape.automatic_networks:
        yield AUTOMATIC
    if auto_created(pool):
        yield AUTO_CREATED
    elif shape.fallback_order:
        yield LADDER
    if any(step.flex_start for step in shape.steps):
        yield TPU_FLEX_START if is_tpu(pool) else FLEX_START
    if row is not None and row.family == "tpu7x":
        yield IRONWOOD
    if row is not None:
        yield from _of_machine(row, rdma=pool.fabric is Fabric.RDMA)
    kubelet = pool.spec.kubelet
    if kubelet is not None and kubelet.topology_manager is not None:
        yield TOPOLOGY
    if kubelet is not None and kubelet.memory_manager is not None:
        yield MEMORY
    if shape.operator:
        return
    if not is_tpu(pool):
        yield DRIVER
    if pool.partition.mode == "timeSlicing" or (mig is not None and bool(mig.time_slicing)):
        yield TIME_SHARING
    if pool.partition.mode == "mps":
        yield MPS


def _of_machine(row: InstanceType, *, rdma: bool) -> Iterator[Floor]:
    if row.family == "g4":
        yield G4_PARTS if row.fractional else G4
    for table in (SERIES, RDMA) if rdma else (SERIES,):
        yield from (floor for start, floor in table.items() if row.name.startswith(start))


def release(version: str) -> tuple[int, ...]:
    """`1.34.1-gke.1829001` as numbers, to be compared; what is not written counts as 0."""
    found = _RELEASE.match(version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def validate_floors(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """What the declared minor version of the cluster cannot have yet. Networks that GKE makes are
    validated next to their other rules."""
    for floor in floors(pool):
        if floor is not AUTOMATIC and release(kubernetes_version) < release(floor.release)[:2]:
            yield error(
                "gke-version-too-old",
                f"{pool.path}.{floor.field}",
                f"{floor.what} needs GKE {floor.releases} or newer, and the cluster is "
                f"{kubernetes_version}",
                "upgrade the cluster, or choose something else",
                found=kubernetes_version,
                limit=floor.release,
            )
