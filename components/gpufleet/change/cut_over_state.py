"""What a cluster shows of a cut-over: devices that the DRA driver publishes, pods that hold GPUs.

Read from `kubectl get nodes,pods,resourceslices -A -o json`. ResourceSlices: resource.k8s.io/v1;
slices of an older generation of their pool do not count (kubernetes/kubernetes
`staging/src/k8s.io/api/resource/v1/types.go`, ResourcePool).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.change.live_node import objects, part
from gpufleet.partition.dra import DRIVER

_FINISHED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class CutOverState:
    """By node."""

    published: Mapping[str, int]
    """Devices in its ResourceSlices."""
    holders: Mapping[str, int]
    """Pods that hold its GPUs, by a resource or a claim."""


def read_cut_over_state(document: Mapping[str, Any]) -> CutOverState | None:
    """None where the document has no pod: what the nodes run is then not known.

    Raises ValueError for a ResourceSlice without a readable generation.
    """
    pods = list(_kind(document, "Pod"))
    if not pods:
        return None
    slices: dict[str, dict[int, int]] = {}
    for item in _kind(document, "ResourceSlice"):
        spec = part(item, "spec")
        if spec.get("driver") == DRIVER and isinstance(spec.get("nodeName"), str):
            by_generation = slices.setdefault(spec["nodeName"], {})
            generation = part(spec, "pool").get("generation", 0)
            if not isinstance(generation, int):
                text = f"generation {generation!r} of a ResourceSlice is no whole number"
                raise ValueError(text)
            count = by_generation.get(generation, 0) + len(objects(spec.get("devices")))
            by_generation[generation] = count
    published = {node: found[max(found)] for node, found in slices.items()}
    holders: dict[str, int] = {}
    for pod in pods:
        node = part(pod, "spec").get("nodeName")
        if isinstance(node, str) and _holds(pod):
            holders[node] = holders.get(node, 0) + 1
    return CutOverState(published, holders)


def _holds(pod: Mapping[str, Any]) -> bool:
    if str(part(pod, "status").get("phase")) in _FINISHED:
        return False
    spec = part(pod, "spec")
    if spec.get("resourceClaims"):
        return True
    containers = [*objects(spec.get("containers")), *objects(spec.get("initContainers"))]
    return any(
        name.startswith("nvidia.com/")
        for one in containers
        for name in part(part(one, "resources"), "limits")
    )


def _kind(document: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    return (one for one in objects(document.get("items")) if one.get("kind") == kind)
