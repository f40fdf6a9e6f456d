"""What a pod must say to land on a pool and get one of its shares: the part a user pastes.

Resource name, node selector, tolerations, and what the way of sharing needs of the pod.
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import NodeTaint, Pool, accelerator_taint
from gpufleet.fleet.queue_topologies import HOSTNAME, topology_levels
from gpufleet.partition import Share
from gpufleet.partition.dra import Offer
from gpufleet.platforms.eks.autoscaler_tags import EFA
from gpufleet.platforms.gke.shape import COMPUTE_CLASS, gke_shape
from gpufleet.platforms.gke.sharing import served_by_gke
from gpufleet.platforms.gke.tpu import tpu_slice
from gpufleet.render.dra import pod_claim
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import Fabric
from gpufleet.spec.queues import Queues

MPS_USER = 1000
"""User the clients of one MPS server run as. A server serves one user at a time: pods of another
user wait until all clients of the first are gone (NVIDIA `nvidia-cuda-mps-control` manual)."""

EFA_HUGE_PAGES = "5120Mi"
"""Huge pages of 2 MiB a pod with EFA asks for, as Amazon's own example does; the EFA driver keeps
5128 of them on each node (Amazon EKS user guide, machine learning with EFA)."""

PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
"""Annotation of a pod template: the node label of a topology's level (Kueue 0.19)."""

LEAST_MEMORY = "8Gi"
"""Memory such a pod asks for at least: the API server takes huge pages only beside processors or
memory. To be raised to what the job needs."""


def pod_spec(pool: Pool, share: Share, network_resources: Sequence[str] = ()) -> dict[str, Any]:
    """The fragment of a pod's `spec`, with one container called `main`.

    Pools with a fabric are for jobs over several nodes: one pod takes a whole node, with its
    network interfaces where they are resources. So it does of TPUs, whose chips of one machine
    only work together (AI-Hypercomputer/xpk v1.13: `google.com/tpu` is the chips of the machine).
    `network_resources` are those of the Network
    Operator (`fleet.addon_plan.rdma_resources`): one of each.
    """
    amount = requested_units(pool, share)
    limits = {share.resource: str(amount)}
    container: dict[str, Any] = {"name": "main", "resources": {"limits": limits}}
    spec: dict[str, Any] = {
        "nodeSelector": _selector(pool),
        "tolerations": _tolerations(pool),
    }
    _add_network(container, pool, network_resources)
    if pool.partition.mode == "mps":
        spec |= _for_mps(pool)
    spec["containers"] = [container]
    return spec


def claiming_pod_spec(
    pool: Pool, offer: Offer, network_resources: Sequence[str] = ()
) -> dict[str, Any]:
    """The same for a pool whose devices are claimed: the claim in place of the resource.

    The pod must be in one of the namespaces the claims are made in.
    """
    claim = pod_claim(pool, offer)
    container: dict[str, Any] = {"name": "main", "resources": claim["resources"]}
    _add_network(container, pool, network_resources)
    return {
        "nodeSelector": _selector(pool),
        "tolerations": _tolerations(pool),
        "resourceClaims": claim["resourceClaims"],
        "containers": [container],
    }


def topology_hint(pool: Pool, queues: Queues | None) -> dict[str, str]:
    """Annotations of the pods of one job by which Kueue places them close together: in one domain
    of the level above the single node where that has room, else in as few as possible. Empty for
    pools in no topology of the queues, and for those whose pods need no network between them.
    """
    if queues is None or pool.fabric is Fabric.NONE:
        return {}
    for topology in queues.topologies:
        levels = [level for level in topology_levels(topology, pool.platform) if level != HOSTNAME]
        if pool.name in topology.pools and levels:
            return {PREFERRED_TOPOLOGY: levels[-1]}
    return {}


def _selector(pool: Pool) -> dict[str, str]:
    """The pool's label; on a pool of several node pools its ComputeClass too, which orders them."""
    own = {POOL_LABEL: pool.name}
    slice_ = tpu_slice(pool)
    if slice_ is not None:
        own |= slice_.labels
    return {**own, COMPUTE_CLASS: pool.name} if _in_class(pool) else own


def _tolerations(pool: Pool) -> list[dict[str, str]]:
    own = accelerator_taint(pool.gpu)
    return [_toleration(taint, any_value=taint == own) for taint in pool.taints]


def _in_class(pool: Pool) -> bool:
    return pool.platform is Platform.GKE and gke_shape(pool).ladder


def _add_network(container: dict[str, Any], pool: Pool, network_resources: Sequence[str]) -> None:
    """The network interfaces, and the right to lock memory, which what is registered with them
    must be."""
    limits: dict[str, str] = {}
    if pool.fabric is Fabric.EFA:
        limits[EFA] = str(min(machine.efa_interfaces for machine in pool.machines))
        limits["hugepages-2Mi"] = EFA_HUGE_PAGES
        container["resources"]["requests"] = {"memory": LEAST_MEMORY}
    limits |= dict.fromkeys(network_resources, "1")
    if limits:
        container["resources"]["limits"] = container["resources"].get("limits", {}) | limits
    if pool.fabric in {Fabric.EFA, Fabric.RDMA}:
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}


def requested_units(pool: Pool, share: Share) -> int:
    """How many of a share one pod asks for."""
    together = pool.fabric is not Fabric.NONE or tpu_slice(pool) is not None
    whole_nodes = together and pool.partition.mode == "exclusive"
    return share.per_node if whole_nodes else share.quantity


def _toleration(taint: NodeTaint, *, any_value: bool) -> dict[str, str]:
    if any_value:
        return {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    return {
        "key": taint.key,
        "operator": "Equal",
        "value": taint.value,
        "effect": taint.effect,
    }


def _for_mps(pool: Pool) -> dict[str, Any]:
    """One user for all clients; on GKE the host's IPC namespace too.

    NVIDIA's device plugin mounts pipe and shared memory of its control daemon into the pod, so the
    pod needs neither the host's IPC nor its process namespace (k8s-device-plugin v0.20.0
    `internal/plugin/mps.go`, and its maintainers in issue 843). GKE's plugin does not: Google asks
    for `hostIPC: true` (GKE documentation, sharing GPUs with MPS).
    """
    needed: dict[str, Any] = {"securityContext": {"runAsUser": MPS_USER}}
    if served_by_gke(pool.spec, pool.platform):
        needed = {"hostIPC": True, **needed}
    return needed
