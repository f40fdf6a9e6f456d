"""Simulated pools from the Node objects of a sandbox."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import (
    Choice,
    Declaration,
    Observations,
    ObservedResource,
    PlatformAdoption,
    ProposedPool,
)
from gpufleet.platforms.sandbox.simulated_node import (
    FORCE_ANNOTATION,
    HARDWARE_ANNOTATION,
    SIMULATED_LABEL,
)
from gpufleet.spec.base import Platform

_GPU_TAINTS = ("nvidia.com/gpu", "aws.amazon.com/neuron")


class SandboxAdoption(PlatformAdoption):
    """Nodes that are labelled as simulated."""

    platform = Platform.SANDBOX
    choices = (Choice("gpuTaint", (False, True)), Choice("fabric", ("rdma", "none")))

    def recognises(self, seen: Observations) -> bool:
        """By types of resources, or by the nodes."""
        return any(_is_simulated(one) for one in seen.objects("Node"))

    def cluster(self, seen: Observations) -> Declaration:
        """Name and place."""
        for one in seen.objects("Node"):
            name, pool = str(_metadata(one).get("name")), _labels(one).get(POOL_LABEL)
            region = _labels(one).get("topology.kubernetes.io/region")
            if pool is not None and f"-{pool}-" in name:
                found = {"name": name.rpartition(f"-{pool}-")[0]}
                return found | ({"region": region} if region not in (None, "sandbox") else {})
        return {"name": "adopted"}

    def pools(self, seen: Observations) -> Iterator[ProposedPool]:
        """One pool for each group of nodes."""
        groups: dict[str, list[ObservedResource]] = {}
        for one in seen.objects("Node"):
            if _is_simulated(one) and POOL_LABEL in _labels(one):
                groups.setdefault(_labels(one)[POOL_LABEL], []).append(one)
        for name, nodes in groups.items():
            yield _pool(name, nodes)


def _pool(name: str, nodes: list[ObservedResource]) -> ProposedPool:
    first, labels = nodes[0], _labels(nodes[0])
    count = len(nodes)
    zones = list(dict.fromkeys(_labels(n).get("topology.kubernetes.io/zone", "") for n in nodes))
    region = labels.get("topology.kubernetes.io/region")
    pool: Declaration = {
        "name": name,
        "instanceTypes": [labels.get("node.kubernetes.io/instance-type", "")],
        "nodes": {"min": count, "max": count},
    }
    if zones != [f"{region}-a"]:
        pool["zones"] = zones
    taints = items(mapping(first.properties.get("spec")).get("taints"))
    own = [
        {k: v for k, v in mapping(t).items() if k != "value" or v}
        for t in taints
        if mapping(t).get("key") not in _GPU_TAINTS
    ]
    if own:
        pool["taints"] = own
    hardware = _texts(_metadata(first).get("annotations")).get(HARDWARE_ANNOTATION, "{}")
    if "nics" in json.loads(hardware):
        pool["fabric"] = "rdma"
    ordered = sorted(nodes, key=lambda n: int(str(_metadata(n).get("name")).rpartition("-")[2]))
    found: dict[str, Mapping[str, Any]] = {f"node/{i}": _node(one) for i, one in enumerate(ordered)}
    text = str(_metadata(first).get("name"))
    return ProposedPool(
        pool,
        found,
        tuple(ordered),
        labels={k: v for k, v in labels.items() if k != SIMULATED_LABEL},
        name_prefix=text.rpartition(f"-{name}-")[0] if f"-{name}-" in text else None,
        notes=("the largest number of nodes is not in the cluster: nodes.max is what is there",),
    )


def _node(one: ObservedResource) -> dict[str, Any]:
    metadata = _metadata(one)
    annotations = {
        key: value
        for key, value in _texts(metadata.get("annotations")).items()
        if key.startswith(("gpufleet.dev/", "sandbox.gpufleet.dev/")) or key == FORCE_ANNOTATION
    }
    spec = mapping(one.properties.get("spec"))
    taints = [
        {key: mapping(t).get(key, "") for key in ("key", "value", "effect")}
        for t in items(spec.get("taints"))
    ]
    return {
        "name": metadata.get("name"),
        "metadata": {"labels": _labels(one), "annotations": annotations},
        "spec": {"providerID": spec.get("providerID"), "taints": sorted(taints, key=str)},
    }


def _is_simulated(one: ObservedResource) -> bool:
    return _labels(one).get(SIMULATED_LABEL) == "true"


def _labels(one: ObservedResource) -> dict[str, str]:
    return _texts(_metadata(one).get("labels"))


def _metadata(one: ObservedResource) -> dict[str, Any]:
    return mapping(one.properties.get("metadata"))


def _texts(value: Any) -> dict[str, str]:
    return {key: item for key, item in mapping(value).items() if isinstance(item, str)}


ADOPTION = SandboxAdoption()
