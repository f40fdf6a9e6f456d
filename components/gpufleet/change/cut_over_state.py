"""What a cluster shows of a cut-over: devices that the DRA driver publishes, pods that hold GPUs.

Read from `kubectl get nodes,pods,resourceslices -A -o json`. ResourceSlices: resource.k8s.io/v1;
slices of an older generation of their pool do not count (kubernetes/kubernetes
`staging/src/k8s.io/api/resource/v1/types.go`, ResourcePool).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.change.live_node import objects
from gpufleet.change.live_pods import LivePod
from gpufleet.documents.paths import mapping_at
from gpufleet.partition.dra import DRIVER


@dataclass(frozen=True, slots=True)
class CutOverState:
    """By node."""

    published: Mapping[str, int]
    """Devices in its ResourceSlices."""
    holders: Mapping[str, int]
    """Pods that hold its GPUs, by a resource or a claim."""


def read_cut_over_state(document: Mapping[str, Any], pods: Sequence[LivePod]) -> CutOverState:
    """The ResourceSlices of a List, and its pods that hold GPUs.

    Raises ValueError for a ResourceSlice without a readable generation.
    """
    slices: dict[str, Counter[int]] = {}
    for item in objects(document.get("items")):
        spec = mapping_at(item, "spec")
        if (
            item.get("kind") == "ResourceSlice"
            and spec.get("driver") == DRIVER
            and isinstance(spec.get("nodeName"), str)
        ):
            generation = mapping_at(spec, "pool").get("generation", 0)
            if not isinstance(generation, int):
                text = f"generation {generation!r} of a ResourceSlice is not a whole number"
                raise ValueError(text)
            by_generation = slices.setdefault(spec["nodeName"], Counter())
            by_generation[generation] += len(objects(spec.get("devices")))
    published = {node: found[max(found)] for node, found in slices.items()}
    return CutOverState(published, Counter(pod.node for pod in pods if pod.holds))
