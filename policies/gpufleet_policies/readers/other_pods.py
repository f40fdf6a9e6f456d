"""Pods of SparkApplications, and pod templates in kinds without a reader.

Source: kubeflow/spark-operator api/v1beta2/sparkapplication_types.go (GPUSpec: name, quantity).
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.fact import Fact, known, unknown
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.readers.raw_pods import (
    Groups,
    PodMakerKind,
    RawGroup,
    count,
    own_pods,
)
from gpufleet_policies.readers.reading import at

_DEEPEST = 12
"""Levels of an object in which pod templates are looked for."""


def spark(document: dict[str, Any]) -> Groups:
    """SparkApplication: driver and executors."""
    executors = count(document, "spec.executor.instances")
    if at(document, "spec.dynamicAllocation.enabled") is True:
        executors = unknown("spec.dynamicAllocation")
    for role, pods in (("driver", known(1)), ("executor", executors)):
        fields = mapping(at(document, f"spec.{role}"))
        if fields:
            yield _spark_pods(document, role, fields, pods)


def _spark_pods(
    document: dict[str, Any], role: str, fields: dict[str, Any], pods: Fact[int]
) -> RawGroup:
    gpu = mapping(fields.get("gpu"))
    limits = {"cpu": fields.get("coreLimit") or fields.get("cores"), "memory": fields.get("memory")}
    if isinstance(gpu.get("name"), str):
        limits[gpu["name"]] = gpu.get("quantity")
    container = {
        "name": f"spark-kubernetes-{role}",
        "image": fields.get("image") or at(document, "spec.image"),
        "env": fields.get("env"),
        "volumeMounts": fields.get("volumeMounts"),
        "resources": {"limits": {key: one for key, one in limits.items() if one is not None}},
    }
    place = f"spec.{role}"
    return own_pods(role, place, fields, pods, container, metadata=fields)


def _found(document: dict[str, Any]) -> Groups:
    for place, spec in _pod_specs(document, "", 0):
        together = {"spreads": True}  # its controller may make several pods that share the work
        yield RawGroup(place, place, spec, unknown(place), together=unknown(place), stated=together)


UNKNOWN_KIND = PodMakerKind(_found)
"""A kind without a reader: its pod templates, with an unknown number of pods."""


def _pod_specs(value: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Mappings with a list of containers, each with a name and an image."""
    if depth > _DEEPEST:
        return
    if is_mapping(value):
        listed = items(value.get("containers"))
        if listed and all(is_mapping(one) and "name" in one and "image" in one for one in listed):
            yield place, value
            return
        for key, below in value.items():
            if key != "status":
                yield from _pod_specs(below, child(place, key), depth + 1)
    elif is_list(value):
        for index, below in enumerate(value):
            yield from _pod_specs(below, child(place, index), depth + 1)


def has_gpu_pods(document: dict[str, Any]) -> bool:
    """Whether an object holds a pod template that requests GPUs or claims of devices."""
    for _, spec in _pod_specs(document.get("spec"), "spec", 0):
        if "resourceClaims" in spec:
            return True
        for one in items(spec.get("containers")):
            limits = mapping(mapping(mapping(one).get("resources")).get("limits"))
            if any("gpu" in name or name.startswith("nvidia.com/") for name in limits):
                return True
    return False
