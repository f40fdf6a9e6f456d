"""A NodePool of fixed size (`spec.replicas`), alpha behind the feature gate StaticCapacity."""

from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_mapping

GATE = "StaticCapacity"


def validate_static(path: str, item: Mapping[str, Any], context: Site, report: CheckReport) -> None:
    """What holds for pools of fixed size only; nothing for others."""
    spec, place = as_mapping(item.get("spec")) or {}, child(path, "spec")
    if spec.get("replicas") is None:
        return
    further = [name for name in as_mapping(spec.get("limits")) or {} if name != "nodes"]
    for name in further:
        report.add(
            "karpenter-static-pool",
            child(child(place, "limits"), name),
            f"the pool has a fixed size, and the API server takes no limit on {name} there",
            "remove it: `replicas` and `limits.nodes` bound the pool",
            value=name,
        )
    if "weight" in spec:
        report.add(
            "karpenter-static-pool",
            child(place, "weight"),
            "the pool has a fixed size, and the API server takes no weight there",
            "remove it: pods do not choose such a pool to grow",
            value=spec["weight"],
        )
    if not context.feature_gates.get(GATE, False):
        report.add(
            "karpenter-static-gate-off",
            child(place, "replicas"),
            f"no node is made while the feature gate {GATE} is off, as it is by default",
            "set settings.featureGates.staticCapacity: true, and say `featureGates: "
            f"{{{GATE}: true}}` in the context",
            value=spec["replicas"],
        )
