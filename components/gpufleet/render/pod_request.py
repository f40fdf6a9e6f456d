"""What a pod must say to land on a pool and get one of its shares: the part a user pastes.

Resource name, node selector, tolerations, and what the way of sharing needs of the pod.
"""

from typing import Any

from gpufleet.contract.gke_sharing import served_by_gke
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import GPU_TAINT, NodeTaint, Pool
from gpufleet.partition import Share
from gpufleet.partition.dra import Offer
from gpufleet.render.autoscaler_tags import EFA
from gpufleet.render.dra import pod_claim
from gpufleet.spec.pool import Fabric

MPS_USER = 1000
"""User the clients of one MPS server run as. A server serves one user at a time: pods of another
user wait until all clients of the first are gone (NVIDIA `nvidia-cuda-mps-control` manual)."""

EFA_HUGE_PAGES = "5120Mi"
"""Huge pages of 2 MiB a pod with EFA asks for, as Amazon's own example does; the EFA driver keeps
5128 of them on each node (Amazon EKS user guide, machine learning with EFA)."""

LEAST_MEMORY = "8Gi"
"""Memory such a pod asks for at least: the API server takes huge pages only beside processors or
memory. To be raised to what the job needs."""


def pod_spec(pool: Pool, share: Share) -> dict[str, Any]:
    """The fragment of a pod's `spec`, with one container called `main`.

    Pools with a fabric are for jobs over several nodes: one pod takes a whole node, with its
    network interfaces where they are resources.
    """
    amount = _amount(pool, share)
    limits = {share.resource: str(amount)}
    container: dict[str, Any] = {"name": "main", "resources": {"limits": limits}}
    spec: dict[str, Any] = {
        "nodeSelector": {POOL_LABEL: pool.name},
        "tolerations": [_toleration(taint) for taint in pool.taints],
    }
    if pool.fabric is Fabric.EFA:
        limits[EFA] = str(min(machine.efa_interfaces for machine in pool.machines))
        limits["hugepages-2Mi"] = EFA_HUGE_PAGES
        container["resources"]["requests"] = {"memory": LEAST_MEMORY}
    if pool.fabric in {Fabric.EFA, Fabric.RDMA}:
        # Memory registered with the network card stays locked.
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    if pool.partition.mode == "mps":
        spec |= _for_mps(pool)
    spec["containers"] = [container]
    return spec


def claiming_pod_spec(pool: Pool, offer: Offer) -> dict[str, Any]:
    """The same for a pool whose devices are claimed: the claim in place of the resource.

    The pod must be in one of the namespaces the claims are made in.
    """
    claim = pod_claim(pool, offer)
    return {
        "nodeSelector": {POOL_LABEL: pool.name},
        "tolerations": [_toleration(taint) for taint in pool.taints],
        "resourceClaims": claim["resourceClaims"],
        "containers": [{"name": "main", "resources": claim["resources"]}],
    }


def _amount(pool: Pool, share: Share) -> int:
    whole_nodes = pool.fabric is not Fabric.NONE and pool.partition.mode == "exclusive"
    return share.per_node if whole_nodes else share.quantity


def _toleration(taint: NodeTaint) -> dict[str, str]:
    if taint == GPU_TAINT:
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
