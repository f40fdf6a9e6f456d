"""A pool that is bought in several ways: one ComputeClass over its node pools, best first.

GKE makes nodes in the first node pool that has capacity, and moves work back up when a better one
gets some (GKE documentation, about custom compute classes: `priorities`, `activeMigration`; read
2026-11-21). Pods ask for the class; sharing and purchase stay the node pools' own.
"""

from typing import Any

from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.auto_class import auto_class, auto_created
from gpufleet.platforms.gke.names import node_pool_name
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import Intent

API_VERSION = "cloud.google.com/v1"

_MOVES_BACK = frozenset({Intent.INFERENCE, Intent.BATCH})
"""Intents whose pods may be moved to better capacity: a move ends each pod once."""

_CONSOLIDATION_MINUTES = {
    Intent.INFERENCE: 10,
    Intent.BATCH: 10,
    Intent.INTERACTIVE: 60,
    Intent.TRAINING: 30,
}
"""Minutes an empty node stays; our own choice, 10 being the autoscaler's default."""


def compute_class(pool: Pool, prefix: str) -> dict[str, Any] | None:
    """The ComputeClass of a pool that is bought in several ways, or by which GKE makes node pools;
    None for every other pool."""
    if pool.platform.name is not Platform.GKE:
        return None
    shape = gke_shape(pool)
    if not shape.fallback_order and not auto_created(pool):
        return None
    ours = {
        "priorities": [{"nodepools": [node_pool_name(pool, step, prefix)]} for step in shape.steps],
        "nodePoolAutoCreation": {"enabled": False},
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "ComputeClass",
        "metadata": {"name": pool.name},
        "spec": {
            **(auto_class(pool, shape) if auto_created(pool) else ours),
            "activeMigration": {"optimizeRulePriority": pool.intent in _MOVES_BACK},
            "autoscalingPolicy": {"consolidationDelayMinutes": _CONSOLIDATION_MINUTES[pool.intent]},
            "whenUnsatisfiable": "DoNotScaleUp",
        },
    }
