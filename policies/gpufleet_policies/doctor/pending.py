"""Why a pod waits, as a proof: each node and each pool with the first reason against it, and the
smallest change that would let the pod run.

Order: scheduling gates, what the scheduler looks up before any node (claims, volumes), the filters
of `fit.py` on each node, then the NodePools of Karpenter (`pools.py`).
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpufleet.documents.shapes import mapping
from gpufleet_policies.doctor.devices import Id, Supply, results, supply_of
from gpufleet_policies.doctor.fit import Answer, Blocker, blockers, unseen
from gpufleet_policies.doctor.observed import SeenPod, below, entries, text
from gpufleet_policies.doctor.pools import pool_answers
from gpufleet_policies.doctor.snapshot import Dump


@dataclass(frozen=True, slots=True)
class WhyPending:
    """Why a pod waits."""

    pod: SeenPod
    before: tuple[str, ...]
    """What keeps it from every node: gates, claims and volumes that are not there."""
    nodes: tuple[Answer, ...]
    fits: tuple[str, ...]
    """Nodes that pass every filter looked at."""
    pools: tuple[Answer, ...]
    unseen: tuple[str, ...]
    """What was not looked at."""
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
            first = one.first
            several = first.filter == "NodeResourcesFit"  # the one filter with several reasons
            also = one.blockers if several else ()
            counts.update({first.reason, *(b.reason for b in also if b.filter == first.filter)})
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
            return "add a node that offers what it asks for"
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


def claim_name(pod: SeenPod, entry: Mapping[str, Any]) -> str:
    """The claim of an entry: named, or made for the pod of a template; empty: not made yet."""
    named = text(entry.get("resourceClaimName"))
    if named:
        return named
    for one in entries(pod.status, "resourceClaimStatuses"):
        if one.get("name") == entry.get("name"):
            return text(one.get("resourceClaimName"))
    return ""


def claim_specs(cluster: Dump, pod: SeenPod) -> dict[str, dict[str, Any]]:
    """Specifications of a pod's claims that have no devices yet."""
    found: dict[str, dict[str, Any]] = {}
    for entry in pod.claims:
        name = claim_name(pod, entry)
        claim = cluster.get("ResourceClaim", name, pod.namespace) if name else None
        if claim is not None:
            if not results(claim):
                found[claim.name] = claim.spec
            continue
        template = cluster.get(
            "ResourceClaimTemplate", text(entry.get("resourceClaimTemplateName")), pod.namespace
        )
        if template is not None:
            found[template.name] = mapping(template.spec.get("spec"))
    return found


def missing(cluster: Dump, pod: SeenPod) -> Iterator[tuple[str, str]]:
    """Kind and name of what a pod names and the dump does not have: claims, templates, volumes."""
    named: list[tuple[str, str]] = []
    for entry in pod.claims:
        name, template = claim_name(pod, entry), text(entry.get("resourceClaimTemplateName"))
        named.append(("ResourceClaim", name) if name else ("ResourceClaimTemplate", template))
    for volume in entries(pod.spec, "volumes"):
        claim = below(volume, "persistentVolumeClaim").get("claimName")
        named.append(("PersistentVolumeClaim", text(claim)))
    yield from (one for one in named if one[1] and not cluster.get(*one, pod.namespace))


def shape(pod: SeenPod) -> str:
    """What decides where a pod may go: pods of one shape have one proof."""
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
    given = _allocated(cluster, pod)
    held = {one.node for one in supply.devices if one.id in given and one.node}
    elsewhere = Blocker(
        "DynamicResources",
        "resourceclaim not available on the node",
        "free the claim, which devices of another node hold",
        4,
    )
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


def _allocated(cluster: Dump, pod: SeenPod) -> set[Id]:
    """Devices that claims of a pod were given."""
    named = (claim_name(pod, entry) for entry in pod.claims)
    claims = (cluster.get("ResourceClaim", name, pod.namespace) for name in named)
    return {one for claim in claims if claim is not None for one in results(claim)}


@lru_cache(maxsize=1)
def proofs(cluster: Dump) -> tuple[WhyPending, ...]:
    """One proof for each shape of pods that wait for GPUs, in the order of their names."""
    shapes: dict[str, list[SeenPod]] = {}
    for pod in cluster.pods:
        if pod.waits and pod.wants_gpus:
            shapes.setdefault(shape(pod), []).append(pod)
    supply = supply_of(cluster)
    return tuple(prove(cluster, pods[0], supply, len(pods)) for pods in shapes.values())
