"""Pools that are known only from Node objects: facts that nodes show, and facts that they lack."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue import load
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.observed import Declaration, Observations, ObservedResource, ProposedPool

_TAINTS_OF_OTHERS = re.compile(
    r"(nvidia\.com/gpu|aws\.amazon\.com/neuron|google\.com/tpu|([a-z0-9.-]+\.)?kubernetes\.io/.*)$"
)
"""Taints of accelerators, and taints that Kubernetes sets and removes."""


@dataclass(frozen=True, slots=True)
class NodeGroups:
    """How the nodes of one platform identify their group."""

    cloud: str
    labels: tuple[str, ...]
    """Labels with the group's name; the first one on a node is used."""
    spot: Mapping[str, str]
    """Labels of a node with spot capacity."""
    elsewhere: str
    """How to obtain the other facts."""

    def pools(self, seen: Observations, known: set[str]) -> Iterator[ProposedPool]:
        """A pool for each group of nodes with accelerators that is not in `known`."""
        groups: dict[str, list[ObservedResource]] = {}
        for one in seen.objects("Node"):
            labels = one.labels
            name = next((labels[key] for key in self.labels if key in labels), None)
            if name is not None and name not in known and self._has_accelerator(labels):
                groups.setdefault(name, []).append(one)
        for name, nodes in groups.items():
            yield self._pool(name, nodes)

    def _has_accelerator(self, labels: Mapping[str, str]) -> bool:
        row = load().instances.get(_machine(labels))
        return row is not None and row.cloud == self.cloud

    def _pool(self, name: str, nodes: list[ObservedResource]) -> ProposedPool:
        labels = [one.labels for one in nodes]
        zones = sorted({one.get("topology.kubernetes.io/zone", "") for one in labels} - {""})
        pool: Declaration = {
            "name": labels[0].get(POOL_LABEL) or pool_name(name),
            "instanceTypes": list(dict.fromkeys(map(_machine, labels))),
            "nodes": {"min": len(nodes), "max": len(nodes)},
            "ownership": "existing",
            **({"zones": zones} if zones else {}),
        }
        if all(self._is_spot(one) for one in labels):
            pool["capacity"] = [{"spot": {}}]
        taints = own_taints(nodes[0])
        if taints:
            pool["taints"] = taints
        common = {k: v for k, v in labels[0].items() if all(one.get(k) == v for one in labels)}
        missing = "bounds are the present nodes; image, disk, network, reservations and upgrades"
        notes = [f"only its nodes were found: {missing} are not known. {self.elsewhere}"]
        if len({self._is_spot(one) for one in labels}) > 1:
            notes.append("some of its nodes are spot and some are not: capacity is not declared")
        return ProposedPool(pool, {}, tuple(nodes), labels=common, notes=tuple(notes))

    def _is_spot(self, labels: Mapping[str, str]) -> bool:
        return any(labels.get(key) == value for key, value in self.spot.items())


def own_taints(one: ObservedResource) -> list[Declaration]:
    """Taints of a node that a pool declares: without those of accelerators and of Kubernetes."""
    return [
        {key: taint[key] for key in ("key", "value", "effect") if taint.get(key)}
        for taint in map(mapping, items(one.spec.get("taints")))
        if not _TAINTS_OF_OTHERS.match(str(taint.get("key")))
    ]


def group_taints(
    written: Any, others: Collection[str], spelling: Mapping[str, str]
) -> list[Declaration]:
    """Taints of a group of nodes that a pool declares: without those that other programs set, and
    with their effects in Kubernetes' form."""
    return [
        {
            "key": taint.get("key"),
            **({"value": taint["value"]} if taint.get("value") else {}),
            "effect": spelling.get(str(taint.get("effect")), str(taint.get("effect"))),
        }
        for taint in map(mapping, items(written))
        if taint.get("key") not in others
    ]


def pool_name(written: str) -> str:
    """A valid pool name from the name of its group."""
    kept = "".join(c if c.isalnum() else "-" for c in written.lower()).strip("-")[:40].strip("-")
    return kept if kept[:1].isalpha() else f"pool-{kept}"[:40].strip("-")


def is_of_cloud(seen: Observations, scheme: str) -> bool:
    """Whether nodes are machines of a cloud, by `spec.providerID`."""
    found = (one.spec.get("providerID") for one in seen.objects("Node"))
    return any(str(one or "").startswith(scheme) for one in found)


def regions_of_nodes(seen: Observations) -> Iterator[str]:
    """Regions in the labels of nodes."""
    for one in seen.objects("Node"):
        if "topology.kubernetes.io/region" in one.labels:
            yield one.labels["topology.kubernetes.io/region"]


def _machine(labels: Mapping[str, str]) -> str:
    return labels.get("node.kubernetes.io/instance-type", "")
