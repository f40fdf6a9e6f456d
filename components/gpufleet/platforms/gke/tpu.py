"""TPU slices on GKE: topology, hosts, and the labels of nodes and pods.

Labels: AI-Hypercomputer/xpk v1.13 and GKE's own autoscaler (Go module k8s.io/gke-autoscaling,
pkg/cloudprovider/gke/machinetypes), which also has the topologies of one host. Topologies of
several hosts: GKE documentation, plan TPUs on GKE; workload policies: the same, TPU7x (all read
2026-11-21).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool

_finding, _rules = findings_in(__file__), rules_in(__file__)

ACCELERATOR_LABEL = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY_LABEL = "cloud.google.com/gke-tpu-topology"


@dataclass(frozen=True, slots=True)
class _Family:
    """Slices of a machine family."""

    family: str
    accelerator: str
    """Value of the accelerator label."""
    planes: Sequence[str] = ()
    """Topologies of several hosts, if they are two-dimensional."""
    most_chips: int = 0
    """Chips of the largest slice, if slices are cuboids."""
    one_host: bool = True
    """Whether a slice may have one host."""
    workload_policy: bool = False
    """A workload policy places several hosts, not the node pool's own topology."""

    @property
    def dimensions(self) -> int:
        return 2 if self.planes or not self.most_chips else 3


_ROWS = read_rows(Path(__file__).parent, "tpu_families")
_FAMILIES = {row["family"]: _Family(**row) for row in _ROWS}

_ONE_HOST = {
    (2, 1): "1x1",
    (2, 4): "2x2",
    (2, 8): "2x4",
    (3, 1): "1x1x1",
    (3, 4): "2x2x1",
}
"""(dimensions, chips of a host) -> topology of a slice of one host."""

_CHIPS_OF_MANY = 4
"""Chips of a host that can be one of several in a slice."""

_SMALL_CUBOID = 64
"""Chips up to which the sides of a cuboid are 2 or 4; above it they are multiples of 4."""


@dataclass(frozen=True, slots=True)
class TpuSlice:
    """Properties of each node pool of a TPU pool."""

    accelerator: str
    """`tpu-v6e-slice`."""
    topology: str
    """`4x4`."""
    hosts: int
    """Nodes of the slice; 1: every node is a separate slice."""
    workload_policy: bool = False
    """Whether a workload policy must exist that places the hosts."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels that GKE sets on the nodes; a pod must select both."""
        return {ACCELERATOR_LABEL: self.accelerator, TOPOLOGY_LABEL: self.topology}


def is_tpu(pool: Pool) -> bool:
    """Whether the pool's accelerators are TPUs."""
    return pool.gpu.vendor == "google"


def tpu_slice(pool: Pool) -> TpuSlice | None:
    """The slice of a TPU pool; None for GPUs, for machines without a sourced label, and for a
    topology that no slice of the machine has."""
    row = pool.machines[0].instance
    family = _FAMILIES.get(row.family) if row is not None and is_tpu(pool) else None
    if family is None:
        return None
    chips = pool.gpus_per_node
    one = _ONE_HOST.get((family.dimensions, chips)) if family.one_host else None
    options = pool.spec.gke
    asked = options.tpu_topology if options is not None else None
    if asked is None or asked == one:
        return None if one is None else TpuSlice(family.accelerator, one, 1)
    if chips != _CHIPS_OF_MANY or not _of_many(asked, family):
        return None
    hosts = prod(_sides(asked)) // chips
    return TpuSlice(family.accelerator, asked, hosts, family.workload_policy)


def _sides(topology: str) -> list[int]:
    return [int(side) for side in topology.split("x")]


def _of_many(topology: str, family: _Family) -> bool:
    """Whether a slice of several hosts can have this topology."""
    if family.dimensions == 2:
        return topology in family.planes
    sides = _sides(topology)
    if len(sides) != family.dimensions or sides != sorted(sides):
        return False
    if prod(sides) <= _SMALL_CUBOID:
        return all(side in (2, 4) for side in sides)
    return prod(sides) <= family.most_chips and all(side % 4 == 0 for side in sides)


def validate_tpu(pool: Pool) -> list[Finding]:
    """Errors of a TPU pool."""
    return list(_validate(pool)) if is_tpu(pool) else []


def _validate(pool: Pool) -> Iterable[Finding]:
    row = pool.machines[0].instance
    assert row is not None
    family = _FAMILIES.get(row.family)
    if family is None:
        yield _finding("tpu-machine-unknown", pool.path, found=row.name, families=sorted(_FAMILIES))
        return
    found = tpu_slice(pool)
    if found is None:
        yield from _topology(pool, family)
    yield from _rules("tpu", pool.path, pool=pool, slice=found)


def _topology(pool: Pool, family: _Family) -> Iterable[Finding]:
    asked = pool.spec.gke.tpu_topology if pool.spec.gke is not None else None
    name, chips = pool.machines[0].name, pool.gpus_per_node
    many = "2x2x2, 2x2x4, 2x4x4, 4x4x4, above them multiples of 4 in ascending order"
    many = ", ".join(family.planes) if family.dimensions == 2 else many
    one = _ONE_HOST.get((family.dimensions, chips)) if family.one_host else None
    several = chips == _CHIPS_OF_MANY and bool(family.planes or family.most_chips)
    sizes = ((f"one host is {one}", one), (f"several hosts are {many}", several))
    known = {"asked": asked, "name": name, "many": many, "several": several}
    return _rules(
        "topology", pool.path, shown="; ".join(text for text, there in sizes if there), **known
    )
