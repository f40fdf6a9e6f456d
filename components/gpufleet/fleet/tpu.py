"""TPU slices on GKE: topology, hosts, and how nodes and pods name them.

Names: AI-Hypercomputer/xpk v1.13. Hosts of a slice and their topologies: GKE documentation, plan
TPUs on GKE (read 2026-11-21).
"""

from dataclasses import dataclass
from math import prod

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool

ACCELERATOR_LABEL = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY_LABEL = "cloud.google.com/gke-tpu-topology"

_LABELS = {
    "ct5lp": ("tpu-v5-lite-podslice", 2),
    "ct5p": ("tpu-v5p-slice", 3),
    "ct6e": ("tpu-v6e-slice", 2),
    "tpu7x": ("tpu7x", 3),
}
"""Machine family -> value of the accelerator label, dimensions of its topologies."""

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


@dataclass(frozen=True, slots=True)
class TpuSlice:
    """What each node pool of a TPU pool is."""

    accelerator: str
    """`tpu-v6e-slice`."""
    topology: str
    """`4x4`."""
    hosts: int
    """Nodes of the slice; 1: every node is a slice of its own."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels that GKE puts on the nodes, both of which a pod must select."""
        return {ACCELERATOR_LABEL: self.accelerator, TOPOLOGY_LABEL: self.topology}


def is_tpu(pool: Pool) -> bool:
    """Whether the pool's accelerators are TPUs."""
    return pool.gpu.vendor == "google"


def tpu_slice(pool: Pool) -> TpuSlice | None:
    """The slice of a TPU pool; None for GPUs, for machines without a sourced label, and for a
    topology that no slice of the machine has."""
    row = pool.machines[0].instance
    known = _LABELS.get(row.family) if row is not None and is_tpu(pool) else None
    if known is None:
        return None
    label, dimensions = known
    chips = pool.gpus_per_node
    one = _ONE_HOST.get((dimensions, chips))
    options = pool.spec.gke
    asked = options.tpu_topology if options is not None else None
    if asked is None or asked == one:
        return None if one is None else TpuSlice(label, one, 1)
    sides = [int(side) for side in asked.split("x")]
    fits = len(sides) == dimensions and prod(sides) % chips == 0 and prod(sides) > chips
    if not fits or chips != _CHIPS_OF_MANY:
        return None
    return TpuSlice(label, asked, prod(sides) // chips)


def judge_tpu(pool: Pool) -> list[Finding]:
    """What is wrong with a TPU pool."""
    row = pool.machines[0].instance
    if row is None or not is_tpu(pool):
        return []
    findings: list[Finding] = []
    if pool.spec.gke is not None and pool.spec.gke.driver == "gpuOperator":
        findings.append(
            error(
                "tpu-with-gpu-operator",
                f"{pool.path}.gke.driver",
                f"the GPU Operator knows NVIDIA GPUs, and {row.name} carries {pool.gpu.name}",
                "remove driver: GKE brings driver and device plugin of TPUs",
            )
        )
    if row.family not in _LABELS:
        findings.append(
            error(
                "tpu-machine-unknown",
                f"{pool.path}.instanceTypes",
                f"how GKE labels nodes of {row.name} was not sourced, so no pod could choose them",
                f"choose one of {', '.join(sorted(_LABELS))}",
                found=row.name,
            )
        )
        return findings
    found = tpu_slice(pool)
    if found is None:
        asked = pool.spec.gke.tpu_topology if pool.spec.gke is not None else None
        dimensions = _LABELS[row.family][1]
        shape = "x".join(["2", "4"] if dimensions == 2 else ["2", "2", "4"])
        findings.append(
            error(
                "tpu-topology",
                f"{pool.path}.gke.tpuTopology",
                f"{asked} is no slice of {row.name}: it has {dimensions} sides, a multiple of "
                f"{pool.gpus_per_node} chips, and more than one host only with hosts of 4 chips",
                f"write {shape}, or leave tpuTopology out for one host",
                found=asked,
            )
        )
    elif found.hosts > 1 and (
        pool.nodes.maximum != found.hosts or pool.nodes.minimum not in (0, found.hosts)
    ):
        findings.append(
            error(
                "tpu-slice-size",
                f"{pool.path}.nodes",
                f"a slice {found.topology} is {found.hosts} hosts that come and go together, and "
                f"{pool.nodes.minimum} to {pool.nodes.maximum} nodes are declared",
                f"write nodes: {{min: 0, max: {found.hosts}}}, and a pool for each slice",
                found=[pool.nodes.minimum, pool.nodes.maximum],
                limit=found.hosts,
            )
        )
    return findings
