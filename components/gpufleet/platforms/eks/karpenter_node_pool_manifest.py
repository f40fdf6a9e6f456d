"""NodePool of a pool: what Karpenter may launch, how much, and when it may take it away.

Format: karpenter.sh/v1 of v1.14.1. Nodes are chosen by their very instance types: the two A100
sizes share a GPU name, and machines with a part of a GPU count none.
"""

from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import NodeTaint, Pool
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.eks import auto_mode
from gpufleet.platforms.eks.karpenter_intent import disruption
from gpufleet.platforms.eks.mig_start import start_labels
from gpufleet.platforms.eks.node_template import modelled_gpus, template_resources
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Provisioner

API_VERSION = "karpenter.sh/v1"
GROUP = "karpenter.k8s.aws"

CAPACITY_TYPES = {
    "onDemand": "on-demand",
    "spot": "spot",
    "reserved": "reserved",
    "capacityBlock": "reserved",
}
"""Way of buying -> `karpenter.sh/capacity-type`."""
KARPENTER_ORDER = ("reserved", "spot", "on-demand")
"""The order in which Karpenter takes them, where a pool allows several."""


def karpenter_name(pool: Pool) -> str:
    """Name of the pool's NodePool, EC2NodeClass and NodeOverlay. A NodePool cannot become a static
    one, nor a static one another (CEL rule of `replicas`, karpenter.sh/v1): it gets a new name."""
    return f"gpufleet-{pool.name}-static" if is_static(pool) else f"gpufleet-{pool.name}"


def is_static(pool: Pool) -> bool:
    """Whether Karpenter keeps the pool's smallest size, whatever pods ask for."""
    return pool.spec.karpenter is not None and pool.spec.karpenter.static


def node_pool(pool: Pool, shape: EksShape) -> dict[str, Any]:
    """The object."""
    options = pool.spec.karpenter or KarpenterPoolOptions()
    auto = pool.provisioner is Provisioner.AUTO_MODE
    rules, lifetime = disruption(pool.intent, options, auto_mode=auto)
    name = karpenter_name(pool)
    spec: dict[str, Any] = {
        "template": {
            "metadata": {"labels": {**pool.labels, **start_labels(pool, pool.labels)}},
            "spec": {
                "nodeClassRef": {
                    "group": auto_mode.GROUP if auto else GROUP,
                    "kind": auto_mode.KIND if auto else "EC2NodeClass",
                    "name": name,
                },
                "requirements": _requirements(pool, shape, options),
                "taints": [_taint(taint) for taint in pool.work_taints],
                **lifetime,
            },
        },
        "disruption": rules,
        "limits": limits(pool),
    }
    starting = [
        *(NodeTaint(one.key, one.value, one.effect) for one in options.startup_taints),
        *(one for one in pool.taints if one not in pool.work_taints),
    ]
    if starting:
        spec["template"]["spec"]["startupTaints"] = [_taint(one) for one in starting]
    if options.weight is not None:
        spec["weight"] = options.weight
    if options.static:
        spec["replicas"] = min(pool.nodes.minimum, pool.available_nodes)
    return {
        "apiVersion": API_VERSION,
        "kind": "NodePool",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/managed-by": "gpufleet", POOL_LABEL: pool.name},
        },
        "spec": merged(spec, options.node_pool),
    }


def limits(pool: Pool) -> dict[str, str]:
    """What all nodes of the pool together may have: its largest size in every unit Karpenter
    counts, and in nodes; 0 outside of the windows of what it buys.

    A limit on GPUs alone would not bind where a node's GPUs are all cut or shared; one on shares
    alone would not bind before Karpenter has read the overlay.
    """
    largest = pool.available_nodes
    if is_static(pool):
        return {"nodes": str(largest)}  # the one limit that the definition takes beside replicas
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
