"""Kueue's objects for the pools: a ResourceFlavor for each, and the topologies of their nodes.

Format: kubernetes-sigs/kueue v0.19.2 `kueue.x-k8s.io/v1beta2`.
"""

from typing import Any

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet, Pool, accelerator_taint
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.fleet.queue_topologies import topology_levels

API_VERSION = "kueue.x-k8s.io/v1beta2"


def resource_flavor(pool: Pool, fleet: Fleet) -> dict[str, Any]:
    """The flavor of one pool: its label, its taints, and the toleration of the accelerator's.

    Jobs admitted to the flavor tolerate the accelerator's taint by it, and the taints that go with
    labels of the platform; the pool's own taints repel jobs that do not tolerate them. Kueue's
    topology placement does not see what webhooks add, so the tolerations must be here.
    """
    selected = platform_rules(pool.platform).pod_selector(pool)
    own = {key: value for key, value in selected.items() if key in pool.labels}
    labels = {POOL_LABEL: pool.name, **own}
    accelerator = accelerator_taint(pool.gpu)
    keys = [accelerator.key, *(key for key in labels if key != POOL_LABEL)]
    spec: dict[str, Any] = {
        "nodeLabels": labels,
        "nodeTaints": node_taints(pool),
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": accelerator.effect} for key in keys
        ],
    }
    topology = _topology_of(pool, fleet)
    if topology is not None:
        spec["topologyName"] = topology
    return manifest(
        API_VERSION, "ResourceFlavor", pool.name, labels={POOL_LABEL: pool.name}, spec=spec
    )


def node_taints(pool: Pool) -> list[dict[str, str]]:
    """Taints that Kueue respects: taints that prevent scheduling."""
    return [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in pool.work_taints
        if taint.effect != "PreferNoSchedule"
    ]


def topologies(fleet: Fleet) -> list[dict[str, Any]]:
    """One Topology per declared one, its levels from the widest to the narrowest."""
    queues = fleet.spec.queues
    made: list[dict[str, Any]] = []
    for declared in () if queues is None else queues.topologies:
        levels = [{"nodeLabel": level} for level in topology_levels(declared, fleet.platform)]
        made.append(manifest(API_VERSION, "Topology", declared.name, spec={"levels": levels}))
    return made


def _topology_of(pool: Pool, fleet: Fleet) -> str | None:
    queues = fleet.spec.queues
    for declared in () if queues is None else queues.topologies:
        if pool.name in declared.pools:
            return declared.name
    return None
