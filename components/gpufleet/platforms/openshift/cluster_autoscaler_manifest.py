"""The ClusterAutoscaler of an OpenShift cluster: it starts the autoscaler and limits it.

Formats, read 2026-11-22: openshift/cluster-autoscaler-operator `pkg/apis/autoscaling/v1` and its
validator (the name must be `default`).
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.documents.quantities import go_duration
from gpufleet.fleet.autoscaler_rules import UNNEEDED
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Pool
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.openshift.machine_clouds import makes_machines
from gpufleet.platforms.openshift.shape import OBJECTS, openshift_shape
from gpufleet.spec.addons import ClusterAutoscaler

API_VERSION = "autoscaling.openshift.io/v1"
NAME = "default"
"""The only name the operator accepts."""
_EXPANDERS = {"least-waste": "LeastWaste", "priority": "Priority"}


def cluster_autoscaler(pools: Sequence[Pool], addon: ClusterAutoscaler) -> dict[str, Any] | None:
    """The object; None if no pool of the fleet is scaled.

    Limits of GPUs count whole GPUs as nodes offer them: with time-slicing every share counts, and
    slices of mixed MIG never. They cover all pools together, including fixed ones, as the
    autoscaler counts every node with the accelerator's label.
    """
    scaled = [p for p in pools if makes_machines(p) and openshift_shape(p).scaled]
    if not scaled:
        return None
    times = (UNNEEDED[pool.intent] for pool in scaled)
    spec = data_part(
        OBJECTS,
        "clusterAutoscaler",
        expander=_EXPANDERS[addon.expander.value],
        unneeded=max(times, key=lambda text: go_duration(text) or 0),
        limits=_gpu_limits(pools),
    )
    return manifest(API_VERSION, "ClusterAutoscaler", NAME, spec=spec)


def _gpu_limits(pools: Sequence[Pool]) -> list[dict[str, Any]]:
    most: dict[str, int] = {}
    for pool in pools:
        if not makes_machines(pool):
            continue
        accelerator = openshift_shape(pool).accelerator
        if accelerator is not None:
            per_node = pool.advertised[RESOURCES[pool.gpu.vendor]]
            most[accelerator] = most.get(accelerator, 0) + pool.nodes.maximum * per_node
    return [{"type": kind, "min": 0, "max": count} for kind, count in sorted(most.items())]
