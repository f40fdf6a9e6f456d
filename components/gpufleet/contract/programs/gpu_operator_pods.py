"""Pods among the extraObjects of the GPU Operator's values."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child, entries_at, mapping_at, value_at
from gpufleet.documents.shapes import as_mapping

_PRODUCT = "nvidia.com/gpu.product"


def validate_extra_objects(
    values: Mapping[str, Any], documents: Mapping[str, Any], report: CheckReport
) -> None:
    """Pods that ask for GPUs in a way that cannot work."""
    suffix = _suffix(documents)
    for place, item in entries_at(values, "extraObjects"):
        for path, spec in _pod_specs(item, place):
            if not _asks_for_gpu(spec):
                continue
            if spec.get("hostUsers") is False:
                report.say("gpu-operator-host-users", child(path, "hostUsers"))
            product = mapping_at(spec, "nodeSelector").get(_PRODUCT)
            if suffix and isinstance(product, str) and not product.endswith(suffix):
                report.say(
                    "gpu-operator-product-selector",
                    child(child(path, "nodeSelector"), _PRODUCT),
                    value=product,
                    suffix=suffix,
                )


def _pod_specs(item: Mapping[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for steps in ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec"):
        spec = as_mapping(value_at(item, steps))
        if spec is not None and "containers" in spec:
            yield f"{path}.{steps}", spec


def _asks_for_gpu(spec: Mapping[str, Any]) -> bool:
    return any(
        re.match(r"nvidia\.com/(gpu|mig-)", name)
        for _, container in entries_at(spec, "containers")
        for name in mapping_at(container, "resources.limits")
    )


def _suffix(documents: Mapping[str, Any]) -> str:
    """What sharing appends to the product label, where every config of the plugin shares GPUs
    without renaming them."""
    for document in documents.values():
        sharing = mapping_at(document, "sharing")
        block = as_mapping(sharing.get("mps")) or as_mapping(sharing.get("timeSlicing"))
        if not block or block.get("renameByDefault") is True:
            return ""
    return "-SHARED" if documents else ""
