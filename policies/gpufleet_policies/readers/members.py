"""Objects inside another object: members of lists, and what an AppWrapper or a NIMPipeline makes.

Sources: project-codeflare/appwrapper api/v1beta2/appwrapper_types.go at 019a3d3 (Kueue admits an
AppWrapper with all that is in it, by the label of the AppWrapper); NVIDIA/k8s-nim-operator v3.1.2
api/apps/v1alpha1/nimpipeline_types.go: a NIMService for each service that is not switched off.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.readers.blocks import inside

QUEUE = "kueue.x-k8s.io/queue-name"
APP_WRAPPER = ("workload.codeflare.dev", "AppWrapper")
_PIPELINE = ("apps.nvidia.com", "NIMPipeline")
Steps = tuple[str | int, ...]


def has_members(document: Mapping[str, Any]) -> bool:
    """Whether an object is validated by its members."""
    if str(document.get("kind", "")).endswith("List"):
        return is_list(document.get("items"))
    return _is_a(document, APP_WRAPPER) or _is_a(document, _PIPELINE)


def members_of(document: Mapping[str, Any]) -> Iterator[tuple[Steps, Any]]:
    """Each member with its place; complete objects, but for members that are no mappings."""
    if _is_a(document, APP_WRAPPER):
        for index, component in enumerate(items(inside(document, "spec.components"))):
            made = mapping(component).get("template")
            yield ("spec", "components", index, "template"), _wrapped(document, made)
    elif _is_a(document, _PIPELINE):
        for index, one in enumerate(map(mapping, items(inside(document, "spec.services")))):
            if one.get("enabled") is not False:
                made = {"metadata": {"name": one.get("name")}, "spec": one.get("spec")}
                made |= {"apiVersion": document.get("apiVersion"), "kind": "NIMService"}
                yield ("spec", "services", index), _wrapped(document, made)
    else:
        for index, item in enumerate(items(document.get("items"))):
            yield ("items", index), typed_member(document, item)


def typed_member(whole: Mapping[str, Any], item: Any) -> Any:
    """A member of a list with its kind: `DeploymentList` states it once for all members."""
    kind = str(whole.get("kind", "")).removesuffix("List")
    if not kind or not is_mapping(item) or "kind" in item:
        return item
    return {"apiVersion": whole.get("apiVersion"), "kind": kind, **item}


def _is_a(document: Mapping[str, Any], kind: tuple[str, str]) -> bool:
    group = str(document.get("apiVersion")).partition("/")[0]
    return (group, document.get("kind")) == kind


def _wrapped(whole: Mapping[str, Any], made: Any) -> Any:
    """Objects that an object creates, in its namespace and its queue."""
    if not is_mapping(made):
        return made
    outer, own = mapping(whole.get("metadata")), mapping(made.get("metadata"))
    queue = {QUEUE: name} if (name := mapping(outer.get("labels")).get(QUEUE)) else {}
    namespace = {"namespace": name} if (name := outer.get("namespace")) else {}
    labels = {"labels": {**mapping(own.get("labels")), **queue}} if queue else {}
    return {**made, "metadata": {**namespace, **own, **labels}}
