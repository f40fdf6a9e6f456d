"""Workloads with resource claims that only Karpenter's nodes could run."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.contract.foreign.go_json import as_list, as_mapping
from gpufleet.contract.foreign.validation import CheckReport
from gpufleet.documents.paths import child

NODE_POOL = "karpenter.sh/nodepool"
Objects = Sequence[tuple[str, dict[str, Any]]]


def validate_claims(workloads: Objects, pools: Objects, report: CheckReport) -> None:
    """Workloads that select a pool of the text and make claims."""
    if not pools:
        return
    for path, item in workloads:
        place, spec = _pod_spec(path, item)
        if spec is None or not as_list(spec.get("resourceClaims")):
            continue
        selector = as_mapping(spec.get("nodeSelector")) or {}
        pinned = [_name(pool) for _, pool in pools if _selects(selector, pool)]
        if pinned:
            report.add(
                "karpenter-claims-ignored",
                child(place, "resourceClaims"),
                f"{item.get('kind')} {_name(item)} makes claims and selects "
                f"{', '.join(pinned)}: Karpenter launches no node for it",
                "run it on a managed node group, or ask for an extended resource",
                pools=pinned,
            )


def _pod_spec(path: str, item: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """The pod's spec of a Pod, a controller or a CronJob."""
    place, spec = child(path, "spec"), as_mapping(item.get("spec")) or {}
    if item.get("kind") == "Pod":
        return place, spec
    if item.get("kind") == "CronJob":
        place = child(child(place, "jobTemplate"), "spec")
        spec = as_mapping((as_mapping(spec.get("jobTemplate")) or {}).get("spec")) or {}
    place = child(child(place, "template"), "spec")
    return place, as_mapping((as_mapping(spec.get("template")) or {}).get("spec"))


def _selects(selector: Mapping[str, Any], pool: Mapping[str, Any]) -> bool:
    """Whether the selector names the pool, or one of the labels it gives to its nodes."""
    if selector.get(NODE_POOL) is not None:
        return selector[NODE_POOL] == _name(pool)
    here: Any = pool
    for key in ("spec", "template", "metadata", "labels"):
        here = (as_mapping(here) or {}).get(key)
    labels = as_mapping(here) or {}
    shared = {key for key in selector if key in labels}
    return bool(shared) and all(selector[key] == labels[key] for key in shared)


def _name(item: Mapping[str, Any]) -> str:
    return str((as_mapping(item.get("metadata")) or {}).get("name"))
