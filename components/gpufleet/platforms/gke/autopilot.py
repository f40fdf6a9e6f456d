"""What a cluster in Autopilot mode refuses: node pools of others, and pods with privileges.

Sources: GKE documentation, Autopilot overview, security capabilities in Autopilot (the Baseline
policy: no privileged containers, no folders of the node) and privileged open-source workloads
(the allowlist has none of NVIDIA), read 2026-11-23; NVIDIA/gpu-operator issue 581. Which GPUs it
offers is not validated.
"""

from collections.abc import Iterable, Sequence

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.platforms.gke.auto_class import auto_created
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec


def validate_autopilot(
    spec: FleetSpec, pools: Sequence[Pool], addons: AddonPlan
) -> Iterable[Finding]:
    """A fleet whose cluster is in Autopilot mode."""
    cluster = spec.cluster.name
    ours = [
        pool for pool in pools if pool.ownership is Ownership.MANAGED and not auto_created(pool)
    ]
    if ours:
        yield error(
            "autopilot-makes-node-pools",
            f"{ours[0].path}.provisioner",
            f"{cluster} is an Autopilot cluster, where GKE alone makes node pools: those of "
            f"{', '.join(pool.name for pool in ours)} would be refused",
            "write `provisioner: computeClass`",
            found=ours[0].provisioner.value,
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
        yield error(
            "autopilot-refuses-privileges",
            path,
            f"{cluster} is an Autopilot cluster, which refuses DaemonSets with privileges and "
            f"folders of the node, as {what} has them",
            "leave it out: GKE brings driver, device plugin and DCGM metrics there",
        )
