"""Why a pod waits, as a proof: each node and each pool with the first reason against it, and the
smallest change that would let the pod run.

Order: scheduling gates, what the scheduler looks up before any node (claims, volumes), the filters
of `fit.py` on each node, then the NodePools of Karpenter (`pools.py`).
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import mapping
from gpufleet_policies.doctor.blockers import Answer, blocker
from gpufleet_policies.doctor.devices import Supply, results, supply_of
from gpufleet_policies.doctor.fit import blockers, unseen
from gpufleet_policies.doctor.observed import Seen, SeenPod, entries, text
from gpufleet_policies.doctor.pools import pool_answers
from gpufleet_policies.doctor.snapshot import Dump

VOLUME = "PersistentVolumeClaim"


@dataclass(frozen=True, slots=True)
class WhyPending:
    """Why a pod waits."""

    pod: SeenPod
    before: tuple[str, ...]
    """Causes that exclude every node: gates, missing claims and volumes."""
    nodes: tuple[Answer, ...]
    fits: tuple[str, ...]
    """Nodes that pass every filter looked at."""
    pools: tuple[Answer, ...]
    unseen: tuple[str, ...]
    """Kinds that were not read."""
    same: int = 1
    """Pods that wait in the same way, this one among them."""

    @property
    def gpus(self) -> int:
        """Accelerators that all of them wait for."""
        return self.same * (self.pod.gpus or 1)

    @property
    def nearest(self) -> Answer | None:
        """The node that needs the smallest change."""
        return min(
            self.nodes, key=lambda one: (one.cost, len(one.blockers), one.name), default=None
        )

    @property
    def summary(self) -> str:
        """The message of the scheduler: nodes by their first reasons."""
        total = len(self.nodes) + len(self.fits)
        counts: Counter[str] = Counter()
        for one in self.nodes:
            several = one.first.filter == "NodeResourcesFit"  # the one filter with several reasons
            said = [b.reason for b in one.blockers if several and b.filter == one.first.filter]
            counts.update({one.first.reason, *said})
        shown = sorted(f"{count} {reason}" for reason, count in counts.items())
        return f"{len(self.fits)}/{total} nodes are available: {', '.join(shown)}."

    @property
    def change(self) -> str:
        """The smallest change that lets it run."""
        if self.before:
            return f"first: {self.before[0]}"
        if self.fits:
            return (
                f"none: {self.fits[0]} takes it; the scheduler has not looked yet, or what was "
                "not looked at keeps it back"
            )
        pool = min(self.pools, key=lambda one: one.cost, default=None)
        near = self.nearest
        if pool is not None and (near is None or pool.cost < near.cost):
            made = f"none: NodePool {pool.name} can make a node for it"
            return f"{pool.change} (NodePool {pool.name})" if pool.blockers else made
        if near is None:
            return "add a node that offers what it requests"
        return f"{near.change} (node {near.name})"

    def as_dict(self) -> dict[str, Any]:
        """It as plain data."""
        return {
            "pod": self.pod.ref,
            "pods": self.same,
            "before": list(self.before),
            "summary": self.summary,
            "nodes": [
                {"node": one.name, "filter": one.first.filter, "reason": one.first.reason}
                for one in self.nodes
            ],
            "fits": list(self.fits),
            "pools": [{"pool": one.name, "reason": one.reason or None} for one in self.pools],
            "notLookedAt": list(self.unseen),
            "change": self.change,
        }


def _named(cluster: Dump, pod: SeenPod) -> Iterator[tuple[str, str, Seen | None]]:
    """Kind and name of what a pod names, and the object: claims, those too that were made for it of
    a template, templates whose claim is not made yet, and claims of volumes."""
    statuses = entries(pod.status, "resourceClaimStatuses")
    made = {one.get("name"): text(one.get("resourceClaimName")) for one in statuses}
    for entry in pod.claims:
        name = text(entry.get("resourceClaimName")) or made.get(entry.get("name"), "")
        kind = "ResourceClaim" if name else "ResourceClaimTemplate"
        name = name or text(entry.get("resourceClaimTemplateName"))
        yield kind, name, cluster.get(kind, name, pod.namespace)
    for volume in entries(pod.spec, "volumes"):
        name = text_at(volume, "persistentVolumeClaim.claimName")
        yield VOLUME, name, cluster.get(VOLUME, name, pod.namespace)


def claim_specs(cluster: Dump, pod: SeenPod) -> dict[str, dict[str, Any]]:
    """Specifications of a pod's claims that have no devices yet."""
    return {
        one.name: one.spec if kind == "ResourceClaim" else mapping(one.spec.get("spec"))
        for kind, _, one in _named(cluster, pod)
        if one is not None and kind != VOLUME and not results(one)
    }


def missing(cluster: Dump, pod: SeenPod) -> Iterator[tuple[str, str]]:
    """Kind and name of what a pod names and the dump does not have."""
    named = _named(cluster, pod)
    yield from ((kind, name) for kind, name, found in named if name and found is None)


def shape(pod: SeenPod) -> str:
    """Facts that decide the nodes of a pod: pods of one shape have one proof."""
    spec = pod.spec
    keys = ("nodeSelector", "affinity", "tolerations", "schedulingGates", "schedulerName")
    claims = [(e.get("name"), e.get("resourceClaimTemplateName")) for e in pod.claims]
    own = pod.name if any("resourceClaimName" in entry for entry in pod.claims) else ""
    volumes = [one.get("persistentVolumeClaim") for one in entries(spec, "volumes")]
    asked = sorted((name, str(amount)) for name, amount in pod.requests.items())
    parts = [pod.namespace, own, [spec.get(key) for key in keys], asked, claims, volumes]
    return json.dumps([*parts, pod.labels.get("kueue.x-k8s.io/queue-name")], default=str)


def prove(cluster: Dump, pod: SeenPod, supply: Supply | None = None, same: int = 1) -> WhyPending:
    """Why a pod waits."""
    supply = supply_of(cluster) if supply is None else supply
    claims = claim_specs(cluster, pod)
    given = {id_ for _, _, one in _named(cluster, pod) if one is not None for id_ in results(one)}
    held = {one.node for one in supply.devices if one.id in given and one.node}
    elsewhere = blocker("devices elsewhere")
    answers = [
        Answer(
            node.name,
            (elsewhere,)
            if held and node.name not in held
            else tuple(blockers(pod, node, cluster, claims, supply)),
        )
        for node in cluster.nodes.values()
    ]
    return WhyPending(
        pod,
        (
            *(f"the scheduling gate {gate} holds it back" for gate in pod.gates),
            *(f"the {kind} {name} is not there" for kind, name in missing(cluster, pod)),
        ),
        tuple(one for one in answers if one.blockers),
        tuple(one.name for one in answers if not one.blockers),
        pool_answers(cluster, pod),
        unseen(pod),
        same,
    )


@lru_cache(maxsize=1)
def proofs(cluster: Dump) -> tuple[WhyPending, ...]:
    """One proof for each shape of pods that wait for GPUs, in the order of their names."""
    shapes: dict[str, list[SeenPod]] = {}
    for pod in cluster.pods:
        if pod.waits and pod.wants_gpus:
            shapes.setdefault(shape(pod), []).append(pod)
    supply = supply_of(cluster)
    return tuple(prove(cluster, pods[0], supply, len(pods)) for pods in shapes.values())
