"""Pools that a pod may run on, its requirements on them, and the purpose of workloads."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.catalogue import AmbiguousKeyError, Catalogue, Gpu, UnknownKeyError
from gpufleet.cluster import UNKNOWN, PodGroup, PoolFacts, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.documents.paths import mapping_at
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.readers.scheduling import has_nvidia
from gpufleet_policies.rules.pools import all_pools, validated_pools

INSTANCE_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
PRODUCT_LABEL = "nvidia.com/gpu.product"
GPU_NAME_LABELS = names("label with the name of a GPU")
"""Labels whose value is a cloud's name of the GPU."""
GPU_LABELS = (PRODUCT_LABEL, *GPU_NAME_LABELS)

POOL_LABEL = "gpufleet.dev/pool"
"""Every node of a pool has it from registration."""

_ADDED = (GPU,)
"""Taints whose toleration the cluster adds to pods that request GPUs (ExtendedResourceToleration,
on by default on GKE; EKS and others leave it to the pod)."""

_POOL_LABELS = {
    Maker.EKS: ("eks.amazonaws.com/nodegroup",),
    Maker.GKE: ("cloud.google.com/gke-nodepool", "cloud.google.com/compute-class"),
    Maker.KARPENTER: ("karpenter.sh/nodepool",),
    Maker.FLEET: (POOL_LABEL,),
}


def accepts(context: RuleContext, pool: NodePool, group: PodGroup) -> bool | None:
    """Whether pods of a group may run on a pool; None where it cannot be decided.

    Required labels decide, and taints without a toleration.
    """
    certain = True
    for key, values in group.node_labels.items():
        carried = carries(context, pool, key, values)
        if carried is False:
            return False
        certain = certain and carried is True
    tolerated = tolerates(pool, group)
    if tolerated is False:
        return False
    certain = certain and tolerated is True and group.node_labels_known
    return True if certain else None


def carries(context: RuleContext, pool: NodePool, key: str, values: frozenset[str]) -> bool | None:
    """Whether nodes of a pool have one of these values for a label; None: cannot be decided."""
    if key in pool.labels:
        return pool.labels[key] in values
    if key in _POOL_LABELS.get(pool.maker, ()):
        return pool.name in values
    named = any(key in labels for labels in _POOL_LABELS.values())
    if named and pool.maker not in (Maker.AWS, Maker.FLEET):
        return False
    if key in INSTANCE_TYPE_LABELS:
        if not pool.instance_types.is_known:
            return None
        return bool(values.intersection(pool.instance_types.value))
    if key == "karpenter.sh/capacity-type" or key == "eks.amazonaws.com/capacityType":
        return _way(pool, values)
    if key in GPU_LABELS:
        if pool.is_certainly_not_gpu:
            return False
        if not pool.gpu.is_known:
            return None
        named = [named_gpus(context.catalogue, key, value) for value in values]
        return any(gpus is None or pool.gpu.value in gpus for gpus in named)
    return None


def _way(pool: NodePool, values: frozenset[str]) -> bool | None:
    if not pool.capacity.is_known:
        return None
    names = {"onDemand": {"on-demand", "ON_DEMAND"}, "spot": {"spot", "SPOT"}}
    own = {name for way in pool.capacity.value for name in names.get(way, {way})}
    return bool(own & values)


def candidates(context: RuleContext, group: PodGroup) -> list[PoolFacts]:
    """Pools of the fleet that no required label of the pods rules out for certain."""
    found = (pool.compiled for pool in fleet_pools(context, group))
    return [one for one in found if one is not None]


def fleet_pools(context: RuleContext, group: PodGroup) -> list[NodePool]:
    """The same as node pools; empty without a fleet."""
    return [
        pool
        for pool in (() if context.fleet is None else validated_pools(context, context.fleet))
        if all(carries(context, pool, *label) is not False for label in group.node_labels.items())
    ]


def possible_pools(context: RuleContext, group: PodGroup, resource: str) -> Sequence[NodePool]:
    """Pools that may run the pods: with a fleet those of it that publish the resource, else those
    that are declared here."""
    if context.fleet is None:
        return pools_for(context, group)
    found = fleet_pools(context, group)
    return [one for one in found if one.compiled is not None and one.compiled.share(resource)]


def is_labelled(context: RuleContext, pool: NodePool, group: PodGroup) -> bool:
    """Whether nodes of a pool certainly have all labels that the pods require."""
    return all(
        carries(context, pool, key, values) is True for key, values in group.node_labels.items()
    )


def tolerates(pool: NodePool, group: PodGroup) -> bool | None:
    """Whether the pods tolerate the taints of a pool; None where it cannot be decided."""
    if not pool.taints.is_known:
        return None if pool.taints.is_unknown else True
    hard = [taint for taint in pool.taints.value if taint.repels]
    if not hard:
        return True
    if group.tolerations.is_unknown:
        return None
    own = group.tolerations.value if group.tolerations.is_known else ()
    left = [t for t in hard if not any(one.covers(t.key, t.effect, t.value) for one in own)]
    if not left:
        return True
    if any(taint.key not in _ADDED for taint in left):
        return False
    if pool.maker is Maker.GKE:
        return True
    # Who writes the key with another value does not count on the cluster to add it.
    return False if any(one.key in _ADDED for one in own) else None


def names_pool(group: PodGroup) -> bool:
    """Whether the pods require a pool by its name, so that no other one can take them."""
    own = {label for labels in _POOL_LABELS.values() for label in labels}
    return any(key in own for key in group.node_labels)


def chooses_pool(context: RuleContext, group: PodGroup) -> bool:
    """Whether the pods require labels that the pools here have themselves."""
    pools = pools_for(context, group)
    return names_pool(group) or any(
        key in pool.labels for key in group.node_labels for pool in pools
    )


def place_of(group: PodGroup) -> Hashable:
    """Facts that decide where pods may run: equal for all groups with the same requirements."""
    labels = tuple(sorted(group.node_labels.items())) if group.node_labels else ()
    return (labels, group.node_labels_known, group.tolerations)


def pools_for(context: RuleContext, group: PodGroup) -> tuple[NodePool, ...]:
    """GPU pools the pods may run on, as far as anything is known; empty: none is declared.

    Computed once for all pods that request the same labels and tolerate the same taints.
    """
    key = ("pools", place_of(group))
    found = context.memo.get(key)
    if found is None:
        found = context.memo[key] = tuple(
            pool
            for pool in all_pools(context)
            if not pool.is_certainly_not_gpu
            and not (pool.is_shape_open and not pool.is_certainly_gpu)
            and accepts(context, pool, group) is not False
        )
    return found


def gpu_groups(workload: WorkloadFacts) -> Iterator[tuple[PodGroup, int, int]]:
    """Groups that certainly have pods with whole GPUs: group, GPUs a pod, pods."""
    for group in workload.running_groups():
        asked = group.pod_gpus(GPU)
        if asked.is_known and asked.value > 0 and group.pods.is_known:
            yield group, asked.value, group.pods.value


def named_gpus(catalogue: Catalogue, label: str, value: str) -> frozenset[str] | None:
    """Keys of the GPUs that a value of one of `GPU_LABELS` may name, with any suffix for MIG or
    sharing; None: a name that no row has, which may be new."""
    try:
        if label == PRODUCT_LABEL:
            return frozenset({catalogue.gpu_by_product_label(value).key})
        return frozenset({catalogue.find_gpu(value).key})
    except AmbiguousKeyError as problem:
        return frozenset(problem.nearest)
    except UnknownKeyError:
        return None


def named_gpu(catalogue: Catalogue, label: str, value: str) -> Gpu | None:
    """The GPU that a value of one of `GPU_LABELS` names; None: a new name, or that of several."""
    found = named_gpus(catalogue, label, value) or ()
    return catalogue.gpu(*found) if len(found) == 1 else None


def has_mig(catalogue: Catalogue, labels: Mapping[str, Any]) -> Any:
    """Whether the GPU that a node's labels name has MIG."""
    for key in GPU_LABELS:
        if isinstance(labels.get(key), str):
            gpu = named_gpu(catalogue, key, labels[key])
            return UNKNOWN if gpu is None or gpu.mig_unknown else bool(gpu.mig)
    return None


def node_facts(catalogue: Catalogue, node: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a Node for rows: MIG of its GPU, whether it has one, and the number of HAMi's."""
    labels, offers = mapping_at(node, "metadata.labels"), mapping_at(node, "status.allocatable")
    register = str(mapping_at(node, "metadata.annotations").get("hami.io/node-nvidia-register"))
    found = {"mig": has_mig(catalogue, labels), "devices": register.count('"id":') or None}
    return {**found, "nvidia": has_nvidia(labels, offers)}


def gpu_requests(group: PodGroup) -> Iterator[tuple[str, int]]:
    """GPU-like resource and amount per pod, where the amount is known and above zero."""
    for resource in group.gpu_resources:
        amount = group.pod_gpus(resource)
        if amount.is_known and amount.value > 0:
            yield resource, amount.value


def offering(pools: list[PoolFacts], resource: str) -> list[PoolFacts]:
    """Those of the pools that publish a resource."""
    return [pool for pool in pools if pool.share(resource) is not None]
