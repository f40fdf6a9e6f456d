"""Images of the GPU nodes that a text declares."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.documents.paths import mapping_at, text_at, value_at
from gpufleet.documents.shapes import as_list, as_mapping

_FAMILIES = {"al2023": "al2023-nvidia", "bottlerocket": "bottlerocket-nvidia"}
"""Family of an alias of EC2NodeClass -> the image that Karpenter starts machines with GPUs from
(aws/karpenter-provider-aws v1.14.1, pkg/providers/amifamily)."""
_GPU = "nvidia.com/gpu"


def node_images(objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Keys of the catalogue, for each EC2NodeClass that a NodePool with GPUs names."""
    found = tuple(objects)
    named = set(_classes(found))
    keys = [
        _FAMILIES.get(_alias(one).partition("@")[0])
        for one in found
        if one.get("kind") == "EC2NodeClass" and text_at(one, "metadata.name") in named
    ]
    return tuple(dict.fromkeys(key for key in keys if key is not None))


def _classes(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for one in objects:
        template = mapping_at(one, "spec.template.spec")
        taints = [as_mapping(taint) or {} for taint in as_list(template.get("taints")) or []]
        limits = as_mapping(value_at(one, "spec.limits")) or {}
        if one.get("kind") == "NodePool" and (
            _GPU in limits or any(taint.get("key") == _GPU for taint in taints)
        ):
            yield text_at(template, "nodeClassRef.name")


def _alias(node_class: Mapping[str, Any]) -> str:
    terms = as_list(value_at(node_class, "spec.amiSelectorTerms")) or []
    aliases = [text_at(term, "alias") for term in terms]
    return next((alias for alias in aliases if alias), "")
