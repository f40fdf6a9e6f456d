"""Objects that a cluster in Autopilot mode refuses: other node pools, and privileged pods.

Sources: GKE documentation, Autopilot overview, security capabilities in Autopilot (the Baseline
policy: no privileged containers, no folders of the node) and privileged open-source workloads
(the allowlist has none of NVIDIA), read 2026-11-23; NVIDIA/gpu-operator issue 581.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.tpu import is_tpu
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)

ADMITTED = frozenset(
    row["accelerator"] for row in read_rows(Path(__file__).parent, "autopilot_gpus")
)
"""Accelerator types in the admission rule of Autopilot clusters: the answer of
`autogke-gpu-limitation` to another type (pastebin.com/cVrwvR2j, 2025-05-13). Until 2023-11 it
listed three (substratusai/helm issue 8), so missing types may have been added since."""


def validate_autopilot(
    spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
) -> Iterable[Finding]:
    """A fleet whose cluster is in Autopilot mode."""
    cluster = spec.cluster.name
    ours = [
        pool for pool in pools if pool.ownership is Ownership.MANAGED and not auto_created(pool)
    ]
    if ours:
        yield _finding(
            "autopilot-makes-node-pools",
            ours[0].path,
            cluster=cluster,
            ours=[pool.name for pool in ours],
            found=ours[0].provisioner.value,
        )
    for pool in pools:
        row = pool.machines[0].instance
        if row is None or is_tpu(pool) or row.gke_accelerator_type in ADMITTED:
            continue
        yield _finding(
            "autopilot-gpu-not-validated",
            f"{pool.path}.instanceTypes" if pool.spec.instance_types else f"{pool.path}.gpu",
            found=row.gke_accelerator_type,
            known=sorted(ADMITTED),
        )
    privileged = {
        "addons.gpuOperator": addons.gpu_operator.enabled,
        "addons.networkOperator": addons.network_operator.enabled,
        "addons.devicePlugin": addons.device_plugin.enabled,
        "addons.draDriver": spec.addons.dra_driver.enabled is True,
        "monitoring": spec.monitoring is not None,
    }
    for path in (path for path, there in privileged.items() if there):
        what = "the DCGM exporter" if path == "monitoring" else path.rpartition(".")[2]
        yield _finding("autopilot-refuses-privileges", path, cluster=cluster, what=what)
