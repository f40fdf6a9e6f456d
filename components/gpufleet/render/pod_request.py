"""Part of a pod template that selects a pool and requests one of its shares, to paste.

Resource name, node selector, tolerations, and fields that the sharing mode needs.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.kueue_quota import takes_whole_nodes
from gpufleet.fleet.model import NodeTaint, Pool, accelerator_taint
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.fleet.queue_rules import HOSTNAME, topology_levels
from gpufleet.partition.dra_needs import NeededDevices
from gpufleet.partition.dra_offers import DraOffer
from gpufleet.partition.grant import Grant
from gpufleet.render.dra import pod_claim
from gpufleet.spec.images import Images
from gpufleet.spec.pool import Fabric
from gpufleet.spec.queues import Queues

MPS_USER = 1000
"""User the clients of one MPS server run as. A server serves one user at a time: pods of another
user wait until all clients of the first are gone (NVIDIA `nvidia-cuda-mps-control` manual)."""

NOTHING: Mapping[str, str] = {}
NO_MIRROR = Images()

PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
"""Annotation of a pod template: the node label of a topology's level (Kueue 0.19)."""


def pod_spec(
    pool: Pool,
    share: Grant,
    network_resources: Mapping[str, str] = NOTHING,
    images: Images = NO_MIRROR,
) -> dict[str, Any]:
    """The fragment of a pod's `spec`, with one container called `main`.

    Pools with a fabric are for jobs over several nodes: one pod takes a whole node, with its
    network interfaces if they are resources. So do pods on platforms that require it.
    `network_resources` are those of the Network Operator (`fleet.rdma_request`), with how many.
    Containers next to the job's come from the mirror of `images`.
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
        if limits := _client_limits(pool):
            container["env"] = limits
    spec["containers"] = [container]
    return _with_fabric(spec, pool, images)


def claiming_pod_spec(
    pool: Pool,
    claimed: DraOffer | NeededDevices,
    network_resources: Mapping[str, str] = NOTHING,
    images: Images = NO_MIRROR,
) -> dict[str, Any]:
    """The same for a pool whose devices are claimed: the claim in place of the resource.

    The pod must be in one of the namespaces the claims are made in.
    """
    claim = pod_claim(pool, claimed)
    ways = isinstance(claimed, NeededDevices) and claimed.choices
    container: dict[str, Any] = {"name": "main", "resources": claim["resources"]}
    _add_network(container, pool, network_resources)
    spec: dict[str, Any] = {
        # A claim that several GPU models meet decides the pool of its pod by itself.
        **({} if ways else {"nodeSelector": _selector(pool)}),
        "tolerations": _tolerations(pool),
        "resourceClaims": claim["resourceClaims"],
        "containers": [container],
    }
    return _with_fabric(spec, pool, images)


def pod_annotations(pool: Pool, queues: Queues | None) -> dict[str, str]:
    """Annotations of a pod: the hint on its place, and the interfaces of the fabric."""
    asked = platform_rules(pool.platform).fabric_request(pool)
    return {**topology_hint(pool, queues), **asked.annotations}


def topology_hint(pool: Pool, queues: Queues | None) -> dict[str, str]:
    """Annotations of the pods of one job by which Kueue places them close together: in one domain
    of the level above the single node if it has room, else in the minimum number of domains. Empty
    for pools in no topology of the queues, and for pools without a fabric.
    """
    if queues is None or pool.fabric is Fabric.NONE:
        return {}
    for topology in queues.topologies:
        levels = [level for level in topology_levels(topology, pool.platform) if level != HOSTNAME]
        if pool.name in topology.pools and levels:
            return {PREFERRED_TOPOLOGY: levels[-1]}
    return {}


def _selector(pool: Pool) -> dict[str, str]:
    """The pool's label, and labels by which the platform places pods on it."""
    return {POOL_LABEL: pool.name, **platform_rules(pool.platform).pod_selector(pool)}


def _tolerations(pool: Pool) -> list[dict[str, str]]:
    own = accelerator_taint(pool.gpu)
    return [_toleration(taint, any_value=taint == own) for taint in pool.work_taints]


def _add_network(
    container: dict[str, Any], pool: Pool, network_resources: Mapping[str, str]
) -> None:
    """Add the network interfaces, and the right to lock memory, because registered memory must be
    locked."""
    asked = platform_rules(pool.platform).fabric_request(pool)
    if asked.requests:
        container["resources"]["requests"] = dict(asked.requests)
    limits = {**asked.limits, **network_resources}
    if limits:
        container["resources"]["limits"] = container["resources"].get("limits", {}) | limits
    if pool.fabric in {Fabric.EFA, Fabric.RDMA, Fabric.TCPX}:
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}


def _with_fabric(spec: dict[str, Any], pool: Pool, images: Images) -> dict[str, Any]:
    """The pod's spec with the volumes and containers that the fabric needs."""
    asked = platform_rules(pool.platform).fabric_request(pool)
    main = spec["containers"][0]
    for key, items in (("env", asked.env), ("volumeMounts", asked.mounts)):
        if items:
            main[key] = [dict(one) for one in items]
    if asked.sidecars:
        # Next to a job that ends: a restartable init container does not keep its pod running
        # (Kubernetes documentation, sidecar containers, "Jobs with sidecar containers").
        spec["initContainers"] = [
            {**one, "image": mirrored(one["image"], images), "restartPolicy": "Always"}
            for one in asked.sidecars
        ]
    if asked.volumes:
        spec["volumes"] = [dict(one) for one in asked.volumes]
    return spec


def requested_units(pool: Pool, share: Grant) -> int:
    """Number of units of a share that one pod requests."""
    return share.per_node if takes_whole_nodes(pool) else 1


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
    """One user for all clients, and fields that the platform's own plugin needs.

    NVIDIA's device plugin mounts pipe and shared memory of its control daemon into the pod, so the
    pod needs neither the host's IPC nor its process namespace (k8s-device-plugin v0.20.0
    `internal/plugin/mps.go`, and its maintainers in issue 843). A platform's plugin may not.
    """
    needed = platform_rules(pool.platform).mps_pod(pool)
    return {**needed, "securityContext": {"runAsUser": MPS_USER}}


def _client_limits(pool: Pool) -> list[dict[str, str]]:
    """Variables of the limits that the pool declares for one client. The container sees its GPU as
    device 0.

    Source: NVIDIA Multi-Process Service, environment variables.
    """
    mps = pool.spec.sharing.mps
    if mps is None:
        return []
    values = {
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": mps.active_thread_percentage,
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": (
            None if mps.pinned_memory_mib is None else f"0={mps.pinned_memory_mib}M"
        ),
    }
    return [{"name": k, "value": str(v)} for k, v in values.items() if v is not None]
