"""Karpenter's objects of a pool: the NodePool (machines that Karpenter may launch, their number,
and when it may remove them), the NodeOverlay of nodes with partitioned or shared GPUs, parts of
GPUs or huge pages of EFA, and the CapacityBuffer of nodes that stay free for new pods.

Format: karpenter.sh/v1 of v1.14.1. Nodes are selected by instance type: the two A100 sizes have one
GPU name, and machines with a part of a GPU report none.

Sources: karpenter.sh v1.14.1 `disruption`; AWS EKS best practices `aiml_compute` (WhenEmpty and a
long wait for GPU nodes). Budgets do not delay expiry: if pods may refuse eviction, a grace period
limits the wait.

Format: kubernetes-sigs/karpenter v1.14.1 `karpenter.sh/v1alpha1`, alpha, behind the feature gate
`NodeOverlay`. It changes the resources that Karpenter expects of a new node, and the price with
which it compares the node's machine if the pool declares a difference. Amounts replace those of the
instance type.

Format: sigs.k8s.io/karpenter v1.14.1 `pkg/apis/autoscaling/v1beta1`, behind the feature gate
`CapacityBuffer`. Its pods exist only in Karpenter's simulation: nothing is scheduled and no image
is pulled. The limits of the NodePool also apply (`pkg/controllers/provisioning/buffers.go`).
"""

from pathlib import Path
from typing import Any

from gpufleet.catalogue.edition import read_rows
from gpufleet.documents.data_files import data_part
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import MANAGED_BY, manifest
from gpufleet.fleet.model import NodeTaint, Pool
from gpufleet.fleet.neuron import is_neuron
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.eks import auto_mode
from gpufleet.platforms.eks.autoscaler_tags import modelled_gpus, template_resources
from gpufleet.platforms.eks.efa import node_huge_pages
from gpufleet.platforms.eks.mig_start import start_labels
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.render.pod_request import pod_spec
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Intent, Provisioner

API_VERSION = "karpenter.sh/v1"
GROUP = "karpenter.k8s.aws"
_FILE = Path(__file__).with_name("autoscalers")

CAPACITY_TYPES = {
    "onDemand": "on-demand",
    "spot": "spot",
    "reserved": "reserved",
    "capacityBlock": "reserved",
}
"""Capacity type -> `karpenter.sh/capacity-type`."""
KARPENTER_ORDER = ("reserved", "spot", "on-demand")
"""The order in which Karpenter uses them, if a pool allows several."""


def karpenter_name(pool: Pool) -> str:
    """Name of the pool's NodePool, EC2NodeClass and NodeOverlay. A NodePool cannot change between
    static and dynamic (CEL rule of `replicas`, karpenter.sh/v1): it gets a new name."""
    return f"gpufleet-{pool.name}-static" if is_static(pool) else f"gpufleet-{pool.name}"


def is_static(pool: Pool) -> bool:
    """Whether Karpenter keeps the pool's minimum size, independent of pods."""
    return pool.spec.karpenter is not None and pool.spec.karpenter.static


def node_pool(pool: Pool, shape: EksShape) -> dict[str, Any]:
    """The object."""
    options = pool.spec.karpenter or KarpenterPoolOptions()
    auto = pool.provisioner is Provisioner.AUTO_MODE
    rules, lifetime = disruption(pool.intent, options, auto_mode=auto)
    starting = [
        *(NodeTaint(one.key, one.value, one.effect) for one in options.startup_taints),
        *(one for one in pool.taints if one not in pool.work_taints),
    ]
    spec = data_part(
        _FILE,
        "nodePool",
        name=karpenter_name(pool),
        group=auto_mode.GROUP if auto else GROUP,
        kind=auto_mode.KIND if auto else "EC2NodeClass",
        labels={**pool.labels, **start_labels(pool, pool.labels)},
        requirements=_requirements(pool, shape, options),
        taints=[_taint(taint) for taint in pool.work_taints],
        expire=lifetime["expireAfter"],
        grace=lifetime["terminationGracePeriod"],
        starting=[_taint(one) for one in starting] or None,
        disruption=rules,
        limits=limits(pool),
        weight=options.weight,
        replicas=min(pool.nodes.minimum, pool.available_nodes) if options.static else None,
    )
    name, labels = karpenter_name(pool), {POOL_LABEL: pool.name}
    return manifest(
        API_VERSION, "NodePool", name, labels=labels, spec=merged(spec, options.node_pool)
    )


def limits(pool: Pool) -> dict[str, str]:
    """Limits of all nodes of the pool together: its largest size in every unit that Karpenter
    counts, and in nodes; 0 outside the windows of its capacity.

    A limit on GPUs alone has no effect if a node's GPUs are all partitioned or shared; one on
    shares alone has no effect before Karpenter has read the overlay.
    """
    largest = pool.available_nodes
    if is_static(pool):
        return {"nodes": str(largest)}  # the definition accepts no other limit with replicas
    counted = {RESOURCES[pool.gpu.vendor]: modelled_gpus(pool)}
    for name, amount in template_resources(pool).items():
        counted[name] = max(amount, counted.get(name, 0))
    bounds = {name: str(amount * largest) for name, amount in counted.items() if amount > 0}
    return {"nodes": str(largest), **dict(sorted(bounds.items()))}


def _requirements(
    pool: Pool, shape: EksShape, options: KarpenterPoolOptions
) -> list[dict[str, Any]]:
    reserved = {"reserved"} if options.reservations else set[str]()
    auto = pool.provisioner is Provisioner.AUTO_MODE  # selects by no operating system
    bought = sorted({CAPACITY_TYPES[entry.mode] for entry in pool.capacity} | reserved)
    found = [
        _in("node.kubernetes.io/instance-type", sorted(machine.name for machine in pool.machines)),
        _in("kubernetes.io/arch", [pool.machines[0].architecture]),
        *([] if auto else [_in("kubernetes.io/os", ["linux"])]),
        _in("karpenter.sh/capacity-type", bought),
    ]
    if shape.zones:
        found.append(_in("topology.kubernetes.io/zone", sorted(shape.zones)))
    for one in options.requirements:
        entry: dict[str, Any] = {"key": one.key, "operator": one.operator}
        if one.values:
            entry["values"] = list(one.values)
        found.append(entry)
    return found


def _taint(taint: NodeTaint) -> dict[str, str]:
    """A value may be absent and must not be empty (karpenter.sh/v1 NodePool)."""
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def _in(key: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": values}


_DISRUPTION = {row["intent"]: row for row in read_rows(Path(__file__).parent, "disruption")}
"""Intent -> how working nodes are handled. `autoMode` replaces values in EKS Auto Mode, which
documents no Balanced and removes nodes after 21 days, by default after 336 hours (Amazon EKS user
guide, automode and create-node-pool)."""


def disruption(
    intent: Intent, options: KarpenterPoolOptions, *, auto_mode: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """`spec.disruption` of a NodePool, and the related fields of `spec.template.spec`."""
    row, written = _DISRUPTION[intent.value], options.disruption
    default = {**row, **row["autoMode"]} if auto_mode else row
    budgets = [
        one.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
        for one in written.budgets
    ]
    return (
        {
            "consolidationPolicy": written.consolidation_policy or default["policy"],
            "consolidateAfter": written.consolidate_after or default["after"],
            "budgets": budgets or [dict(one) for one in default["budgets"]],
        },
        {
            "expireAfter": options.expire_after or default["expire"],
            "terminationGracePeriod": options.termination_grace_period or default["grace"],
        },
    )


BUFFER_VERSION = "autoscaling.x-k8s.io/v1beta1"
BUFFER_NAMESPACE = "kube-system"
"""Namespace of the two objects."""


def has_buffer(pool: Pool) -> bool:
    """Whether Karpenter keeps nodes of the pool free."""
    options = pool.spec.karpenter
    return pool.provisioner is Provisioner.KARPENTER and options is not None and options.buffer


def capacity_buffer(pool: Pool) -> tuple[dict[str, Any], ...]:
    """The PodTemplate of a pod that uses a whole node, and the CapacityBuffer of `nodes.min` such
    pods; empty for pools without one."""
    if not has_buffer(pool) or not pool.advertised:
        return ()
    spec = pod_spec(pool, pool.partition.shares[0])
    (container,) = spec["containers"]
    container["image"] = "registry.k8s.io/pause:3.10"
    whole = {name: str(amount) for name, amount in pool.advertised.items()}
    asked = {**container["resources"].get("limits", {}), **whole}
    # The API server sets no requests in a PodTemplate, and Karpenter reads only that.
    container["resources"] = {"requests": asked, "limits": asked}
    name = karpenter_name(pool)
    place, labels = (name, BUFFER_NAMESPACE), {POOL_LABEL: pool.name}
    template = {"metadata": {"labels": {**MANAGED_BY, **labels}}, "spec": spec}
    wanted = {"podTemplateRef": {"name": name}, "replicas": pool.nodes.minimum}
    return (
        manifest("v1", "PodTemplate", *place, labels, template=template),
        manifest(BUFFER_VERSION, "CapacityBuffer", *place, labels, spec=wanted),
    )


OVERLAY_VERSION = "karpenter.sh/v1alpha1"


def node_overlay(pool: Pool) -> dict[str, Any] | None:
    """The overlay of a pool that Karpenter provisions; None if Karpenter's own model is correct.

    The overlay selects the pool's label and its exact instance types. The GPU name is not enough:
    the two A100 sizes share one. The label separates pools that partition the same instance type
    differently; the pool's NodePool must set it in its template. Karpenter counts Neuron devices
    and their cores, and EFA interfaces, without an overlay.
    """
    if pool.provisioner is not Provisioner.KARPENTER:
        return None
    capacity = {**_devices(pool), **node_huge_pages(pool)}
    price = (pool.spec.karpenter or KarpenterPoolOptions()).price_adjustment
    if not capacity and price is None:
        return None
    spec = data_part(
        _FILE,
        "nodeOverlay",
        label=POOL_LABEL,
        pool=pool.name,
        types=sorted(machine.name for machine in pool.machines),
        capacity=capacity or None,
        price=price,
    )
    labels = {POOL_LABEL: pool.name}
    return manifest(
        OVERLAY_VERSION, "NodeOverlay", f"gpufleet-{pool.name}", labels=labels, spec=spec
    )


def _devices(pool: Pool) -> dict[str, str]:
    """Devices of a node, if they differ from Karpenter's own count."""
    resources = template_resources(pool)
    counted = {RESOURCES[pool.gpu.vendor]: modelled_gpus(pool)}
    if is_neuron(pool.gpu) or resources == counted:
        return {}
    return {name: str(amount) for name, amount in resources.items()}
