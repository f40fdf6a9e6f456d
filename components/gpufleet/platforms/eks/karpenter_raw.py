"""Findings about raw fields of a pool's NodePool and node class, which are merged last.

They may set fields that gpufleet does not set. They must not change fields from which labels, spend
and limits are computed, or that the component wires.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.spec.karpenter import KarpenterPoolOptions

DECIDED = {
    "nodePool": {
        "template.metadata.labels": "labels",
        "template.spec.nodeClassRef": "provisioner",
        "template.spec.requirements": "karpenter.requirements",
        "template.spec.taints": "taints",
        "template.spec.startupTaints": "karpenter.startupTaints",
        "template.spec.expireAfter": "karpenter.expireAfter",
        "template.spec.terminationGracePeriod": "karpenter.terminationGracePeriod",
        "disruption": "karpenter.disruption",
        "limits": "nodes.max",
        "replicas": "karpenter.static",
        "weight": "karpenter.weight",
    },
    "nodeClass": {
        "amiFamily": "image",
        "amiSelectorTerms": "eks.releaseVersion",
        "capacityReservationSelectorTerms": "capacity",
        "instanceStorePolicy": "eks.localStorage",
        "networkInterfaces": "fabric",
        "placementGroupSelector": "karpenter.placementGroup",
        "tags": "tags",
        "userData": "kubelet",
    },
}
"""Object -> its fields that a setting decides -> the setting."""
WIRED = ("role", "instanceProfile", "subnetSelectorTerms", "securityGroupSelectorTerms")
"""Fields of a node class that follow from the connection."""


def validate_raw_fields(pool: Pool, options: KarpenterPoolOptions) -> Iterable[Finding]:
    """Fields that are refused. What the schemas refuse of the rest is asked of the objects."""
    written: Mapping[str, Mapping[str, Any]] = {
        "nodePool": options.node_pool,
        "nodeClass": options.node_class,
    }
    for name, raw in written.items():
        place = f"{pool.path}.karpenter.{name}"
        for field, setting in DECIDED[name].items():
            if value_at(raw, field) is not None:
                yield error(
                    "raw-argument-decided",
                    f"{place}.{field}",
                    f"{field} follows from `{setting}`, which spend, quotas and pods rely on",
                    f"remove it, and write `{setting}`",
                    found=field,
                )
    for field in WIRED:
        if field in options.node_class:
            yield error(
                "raw-argument-wired",
                f"{pool.path}.karpenter.nodeClass.{field}",
                f"{field} follows from the connection and the declaration",
                "remove it here and give it in `connection`",
                found=field,
            )
