"""Nodes and pods of a dump: what can be requested, and what is.

Sources: Kubernetes, Well-Known Labels; Karpenter `karpenter.sh/capacity-type`; EKS
`eks.amazonaws.com/capacityType`; GKE `cloud.google.com/gke-spot` and `gke-provisioning`.
"""

from collections.abc import Iterator
from typing import Any

from gpufleet.cluster.container import is_gpu_resource
from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.cluster.node import ObservedNode, PodOnNode
from gpufleet.documents.shapes import mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.blocks import inside, known_texts
from gpufleet_policies.readers.quantities import amount
from gpufleet_policies.readers.reserved import reserved

_SPOT = meanings("label of spot nodes")
_ENDED = ("Succeeded", "Failed")


def node(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Node; not one that KWOK plays (kwok.sigs.k8s.io, Manage Nodes and Pods)."""
    labels = known_texts(inside(document, "metadata.labels"))
    annotations = known_texts(inside(document, "metadata.annotations"))
    if "kwok.x-k8s.io/node" in annotations or labels.get("type") == "kwok":
        return
    yield ObservedNode(
        locator=locator,
        annotations=annotations,
        labels=labels,
        gpus=_gpus(mapping(inside(document, "status.allocatable"))),
        instance_type=_label(labels, "node.kubernetes.io/instance-type"),
        region=_label(labels, "topology.kubernetes.io/region"),
        spot=any(labels.get(key) == value for key, value in _SPOT.items()),
    )


def pod(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """core Pod that the scheduler has placed."""
    where = inside(document, "spec.nodeName")
    if not isinstance(where, str) or inside(document, "status.phase") in _ENDED:
        return
    asked = reserved(mapping(document.get("spec")))
    gpus = {name: int(one) for name, one in asked.items() if one and is_gpu_resource(name)}
    if gpus:
        yield PodOnNode(locator=locator, node=where, gpus=gpus)


def _gpus(resources: dict[str, Any]) -> dict[str, int]:
    found = {name: amount(value) for name, value in resources.items() if is_gpu_resource(name)}
    return {name: int(one.number) for name, one in found.items() if one is not None and one.number}


def _label(labels: dict[str, str], key: str) -> Fact[str]:
    return known(labels[key], place=f"metadata.labels[{key}]") if key in labels else absent(key)
