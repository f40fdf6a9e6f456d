"""Which pools a pod may run on, according to its required labels."""

from collections.abc import Iterator

from gpufleet.catalogue import AmbiguousKeyError, Catalogue, Gpu, UnknownKeyError
from gpufleet.cluster import FleetFacts, PodGroup, PoolFacts

INSTANCE_TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
PRODUCT_LABEL = "nvidia.com/gpu.product"
GPU_NAME_LABELS = (
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "eks.amazonaws.com/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
)
"""Labels whose value is a cloud's name of the GPU."""
GPU_LABELS = (PRODUCT_LABEL, *GPU_NAME_LABELS)

POOL_LABEL = "gpufleet.dev/pool"
"""Every node of a pool carries it from birth."""


def candidates(fleet: FleetFacts, group: PodGroup, catalogue: Catalogue) -> list[PoolFacts]:
    """Pools that no required label of the pods rules out for certain."""
    return [pool for pool in fleet.pools if _may_run_on(pool, group, catalogue)]


def _may_run_on(pool: PoolFacts, group: PodGroup, catalogue: Catalogue) -> bool:
    return all(
        _may_carry(pool, key, values, catalogue) for key, values in group.node_labels.items()
    )


def _may_carry(pool: PoolFacts, key: str, values: frozenset[str], catalogue: Catalogue) -> bool:
    if key == POOL_LABEL:
        return pool.name in values
    if key in pool.labels:
        return pool.labels[key] in values
    if key in INSTANCE_TYPE_LABELS:
        return not pool.machines or bool(values.intersection(pool.machines))
    if key in GPU_LABELS:
        return any(may_name(catalogue, key, value, pool.gpu) for value in values)
    return True  # zones, architectures, labels others put on nodes: nothing is known


def named_gpus(catalogue: Catalogue, label: str, value: str) -> frozenset[str] | None:
    """Keys of the GPUs that a value of one of `GPU_LABELS` may name, whatever suffix says that they
    are cut or shared; None: a name that no row has, which may be new."""
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


def may_name(catalogue: Catalogue, label: str, value: str, gpu: str) -> bool:
    """Whether a value of one of `GPU_LABELS` may name a GPU."""
    found = named_gpus(catalogue, label, value)
    return found is None or gpu in found


def gpu_requests(group: PodGroup) -> Iterator[tuple[str, int]]:
    """GPU-like resource and amount per pod, where the amount is known and above zero."""
    for resource in group.gpu_resources:
        amount = group.pod_gpus(resource)
        if amount.is_known and amount.value > 0:
            yield resource, amount.value


def offering(pools: list[PoolFacts], resource: str) -> list[PoolFacts]:
    """Those of the pools that publish a resource."""
    return [pool for pool in pools if pool.share(resource) is not None]


def described(resource: str, pool: PoolFacts) -> str:
    """A resource and its pool in words: `nvidia.com/mig-1g.10gb of pool notebooks`."""
    return f"{resource} of pool {pool.name}"
