"""Findings about pools of UltraServers: machines that are sold and connected as one.

Sources: Amazon EKS user guide `ml/ml-eks-nvidia-ultraserver` 00e3293 (P6e-GB200: 9 or 18 machines,
Kubernetes 1.33, claims, no MIG with the driver of the AMI); Amazon EC2, Trn2 UltraServers (4
machines). Read 2026-11-23.
"""

from collections.abc import Iterable

from gpufleet.findings import Finding, findings_in, warning
from gpufleet.fleet.model import Pool

_finding = findings_in(__file__)

_MACHINES = {"p6e-gb200": 9, "trn2u": 4}
"""Family -> machines of the smallest UltraServer."""
_SINCE = (1, 33)
"""First Kubernetes minor with P6e UltraServers on EKS."""


def validate_ultraserver(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """Everything of this kind about one pool."""
    row = pool.machines[0].instance
    size = None if row is None else _MACHINES.get(row.family)
    if row is None or size is None:
        return
    if pool.nodes.maximum % size:
        yield warning(
            "ultraserver-in-part",
            f"{pool.path}.nodes.max",
            f"a block of {row.name} is of whole UltraServers of {size} machines"
            + (" or 18" if row.family == "p6e-gb200" else "")
            + f", and {pool.nodes.maximum} are declared: the rest is paid and not used",
            f"write a multiple of {size}",
            found=pool.nodes.maximum,
            limit=size,
        )
    if row.family != "p6e-gb200":
        return
    if tuple(int(part) for part in kubernetes_version.split(".")[:2]) < _SINCE:
        yield _finding("ultraserver-kubernetes-too-old", found=kubernetes_version, limit="1.33")
    if pool.provisioner.by_node_pool:
        yield _finding("ultraserver-claims-with-karpenter", pool.path, found=pool.provisioner.value)
    if pool.partition.mig_enabled:
        yield _finding("ultraserver-without-mig", pool.path)
