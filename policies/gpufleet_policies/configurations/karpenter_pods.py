"""Pods that request more GPUs than a machine of any NodePool of the text has."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.catalogue import AWS, load
from gpufleet.contract.programs.karpenter_machines import admits, names, read_requirements, selected
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import entries_at, mapping_at, value_at
from gpufleet.documents.quantities import quantity
from gpufleet_policies.configurations.objects import Object

GPU = "nvidia.com/gpu"
_WAYS = {"Pod": "spec", "CronJob": "spec.jobTemplate.spec.template.spec"}
"""Kind -> path of its pod's spec; of all others it is that of a controller."""


def validate_pods(
    workloads: Sequence[Object],
    pools: Sequence[Object],
    overlays: Sequence[Mapping[str, Any]],
    report: CheckReport,
) -> None:
    """Compare each pod with the pools that it selects, or with all where it selects no nodes."""
    if any(GPU in mapping_at(overlay, "spec.capacity") for overlay in overlays):
        return  # an overlay states the resources of a node
    for path, item in workloads:
        way = _WAYS.get(str(item.get("kind")), "spec.template.spec")
        spec = mapping_at(item, way)
        asked = _gpus(spec)
        selector = mapping_at(spec, "nodeSelector")
        every = [pool for _, pool in pools]
        found = [pool for pool in every if _selects(selector, pool)] or ([] if selector else every)
        most = [_most_gpus(pool) for pool in found] if asked else []
        counts = [count for count in most if count is not None]
        if not counts or len(counts) < len(most) or max(counts) >= asked:
            continue
        largest = max(counts)
        vendors = sorted({vendor for pool in found for vendor in _vendors(pool)} - {"nvidia"})
        report.add(
            "karpenter-pod-fits-no-pool",
            f"{path}.{way}" if path else way,
            f"{item.get('kind')} {value_at(item, 'metadata.name')} requests {asked} {GPU}, and "
            f"machines of {', '.join(str(value_at(pool, 'metadata.name')) for pool in found)} have "
            f"at most {largest}"
            + (f"; their GPUs are of {', '.join(vendors)}" if vendors and not largest else ""),
            f"allow machines with {asked} GPUs of NVIDIA, or request {largest}"
            if largest
            else "allow machines with GPUs of NVIDIA",
            value=asked,
            limit=largest,
        )


def _most_gpus(pool: Mapping[str, Any]) -> int | None:
    """Maximum number of GPUs that Karpenter counts on a machine of a pool; None where labels
    partition or share them."""
    labels = mapping_at(pool, "spec.template.metadata.labels")
    if any(label.startswith("nvidia.com/") for label in labels):
        return None
    parts = [
        row.accelerator
        for row in selected(read_requirements(value_at(pool, "spec.template.spec.requirements")))
    ]
    counts = [one.count if one.api_count is None else one.api_count for one in parts]
    return None if None in counts else max((one for one in counts if one is not None), default=0)


def _vendors(pool: Mapping[str, Any]) -> set[str]:
    """Vendors of the GPUs of machines that the pool names."""
    asked = read_requirements(value_at(pool, "spec.template.spec.requirements"))
    return {
        load().gpu(row.accelerator.gpu).vendor
        for row in load().instances.values()
        if row.cloud == AWS and names(row, asked) and all(admits(row, one) for one in asked)
    }


def _gpus(spec: Mapping[str, Any]) -> int:
    """GPUs of NVIDIA that the containers of a pod request."""
    limits = (
        mapping_at(container, "resources.limits") for _, container in entries_at(spec, "containers")
    )
    return sum(int(quantity(str(one.get(GPU, 0))) or 0) for one in limits)


def _selects(selector: Mapping[str, Any], pool: Mapping[str, Any]) -> bool:
    """Whether the selector names the pool, or one of the labels it gives to its nodes."""
    named = selector.get("karpenter.sh/nodepool")
    if named is not None:
        return named == str(value_at(pool, "metadata.name"))
    labels = mapping_at(pool, "spec.template.metadata.labels")
    shared = {key for key in selector if key in labels}
    return bool(shared) and all(selector[key] == labels[key] for key in shared)
