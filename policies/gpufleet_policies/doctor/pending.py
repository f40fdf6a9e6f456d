"""Why a pod waits, as a proof: each node and each pool with the first reason against it, and the
smallest change that would let the pod run.

Order: scheduling gates, what the scheduler looks up before any node (claims, volumes), the filters
of `fit.py` on each node, then the NodePools of Karpenter (`pools.py`).
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.blockers import Answer, blocker
from gpufleet_policies.doctor.devices import results, supply_of
from gpufleet_policies.doctor.fit import blockers, host_ports, unseen
from gpufleet_policies.doctor.observed import Seen, SeenPod, entries, text
from gpufleet_policies.doctor.pools import pool_answers
from gpufleet_policies.doctor.snapshot import Dump
from gpufleet_policies.readers.scheduling import REQUIRED, meets, selections

VOLUME = "PersistentVolumeClaim"
Part = tuple[Sequence[str], set[str]]
"""Names of nodes that are alike, and those among them that a pod tells apart."""


@dataclass(frozen=True, slots=True)
class WhyPending:
    """Why a pod waits."""

    pod: SeenPod
    before: tuple[str, ...]
    """Causes that exclude every node: gates, missing claims and volumes."""
    answers: tuple[Answer, ...]
    """Those of all nodes."""
    pools: tuple[Answer, ...]
    unseen: tuple[str, ...]
    """Kinds that were not read."""
    same: int = 1
    """Pods that wait in the same way, this one among them."""
    listed: int | None = 3
    """Names that are listed of nodes with one reason; None: all."""

    @property
    def nodes(self) -> list[Answer]:
        """Nodes that do not take it."""
        return [one for one in self.answers if one.blockers]

    @property
    def fits(self) -> list[Answer]:
        """Nodes that pass every filter looked at."""
        return [one for one in self.answers if not one.blockers]

    @property
    def reasons(self) -> dict[tuple[str, str], tuple[list[str], int]]:
        """By filter and first reason (empty: they fit): names of the first nodes, and how many."""
        found: dict[tuple[str, str], tuple[list[str], int]] = {}
        for one in self.answers:
            key = (one.first.filter, one.reason) if one.blockers else ("", "")
            names, count = found.get(key, ([], 0))
            more = islice(one.names, self.listed and self.listed - len(names))
            found[key] = ([*names, *more], count + one.count)
        return found

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
        total, fit = (sum(one.count for one in of) for of in (self.answers, self.fits))
        counts: Counter[str] = Counter()
        for one in self.nodes:
            several = one.first.filter == "NodeResourcesFit"  # the one filter with several reasons
            said = [b.reason for b in one.blockers if several and b.filter == one.first.filter]
            counts.update(dict.fromkeys((one.first.reason, *said), one.count))
        shown = sorted(f"{count} {reason}" for reason, count in counts.items())
        return f"{fit}/{total} nodes are available: {', '.join(shown)}."

    @property
    def change(self) -> str:
        """The smallest change that lets it run."""
        if self.before:
            return f"first: {self.before[0]}"
        if self.fits:
            return (
                f"none: {self.fits[0].name} takes it; the scheduler has not looked yet, or what "
                "was not looked at keeps it back"
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
                {"nodes": names, "count": count, "filter": kind, "reason": reason}
                for (kind, reason), (names, count) in self.reasons.items()
                if kind
            ],
            "fits": self.reasons.get(("", ""), ([], 0))[0],
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


class Groups:
    """Nodes that the filters do not tell apart, by name.

    Those that a pod selects are found by their labels: pods with a node of their own each do not
    look at every node.
    """

    def __init__(self, cluster: Dump) -> None:
        """Sort nodes by their labels."""
        self.cluster = cluster
        self._labelled: dict[tuple[str, str], set[str]] = defaultdict(set)
        for name, node in cluster.nodes.items():
            for pair in (*node.labels.items(), ("metadata.name", name)):
                self._labelled[pair].add(name)
        self._meeting = cache(self._meeting_text)
        self._alike = cache(self._alike_for)
        self._split = cache(lambda *key: [*self._parts(*key)])

    def of(self, pod: SeenPod) -> list[Part]:
        """Nodes with one answer for a pod, and those among them that have another; empty: each
        has its own."""
        if pod.claims or pod.apart_from or entries(pod.spec, f"affinity.podAffinity.{REQUIRED}"):
            return []
        asked = tuple(sorted(name for name, amount in pod.requests.items() if amount))
        return self._split(asked, json.dumps(selections(pod.spec)))

    def _parts(self, asked: tuple[str, ...], selection: str) -> Iterator[Part]:
        key_of, alike = self._alike(asked)
        chosen: list[list[Any]] = json.loads(selection)
        inside: dict[str, set[str]] = defaultdict(set)
        for one in chosen if all(chosen) else ():
            met = sorted((self._meeting(json.dumps(part)) for part in one), key=len)
            for name in met[0].intersection(*met[1:]):
                inside[key_of[name]].add(name)
        for key, names in alike.items():
            own = inside[key] if all(chosen) else set(names)
            if own:
                yield sorted(own), set()
            if len(own) < len(names):
                yield names, own

    def _meeting_text(self, written: str) -> set[str]:
        """Nodes that meet a requirement."""
        one = json.loads(written)
        if one.get("operator") == "In":
            pairs = ((one.get("key"), str(value)) for value in items(one.get("values")))
            return set[str]().union(*(self._labelled.get(pair, ()) for pair in pairs))
        nodes = self.cluster.nodes.items()
        return {name for name, node in nodes if meets(one, {**node.labels, "metadata.name": name})}

    def _alike_for(self, asked: tuple[str, ...]) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Facts of nodes as one text, by name, and names by these texts."""
        cluster, key_of = self.cluster, dict[str, str]()
        alike: dict[str, list[str]] = defaultdict(list)
        for name, node in sorted(cluster.nodes.items()):
            here, most = cluster.pods_on.get(name, []), node.allocatable.get("pods")
            apart = name if any(one.apart_from for one in here) else ""
            ports = sorted(port for one in here for port in host_ports(one.spec))
            amounts = [f"{node.allocatable.get(one)} {cluster.free(node, one)}" for one in asked]
            full = most is not None and len(here) + 1 > most
            facts = [apart, node.spec.get("unschedulable"), node.taints, ports, amounts, full]
            key_of[name] = json.dumps(facts, default=str)
            alike[key_of[name]].append(name)
        return key_of, alike


def prove(cluster: Dump, pod: SeenPod, groups: Groups | None = None, same: int = 1) -> WhyPending:
    """Why a pod waits, with `groups` by nodes that are alike."""
    supply = supply_of(cluster)
    alone = (([name], set[str]()) for name in cluster.nodes)
    claims = claim_specs(cluster, pod)
    given = {id_ for _, _, one in _named(cluster, pod) if one is not None for id_ in results(one)}
    held = {one.node for one in supply.devices if one.id in given and one.node}
    elsewhere = (blocker("devices elsewhere"),)

    def answer(names: Sequence[str], without: set[str]) -> Answer:
        node = cluster.nodes[next(name for name in names if name not in without)]
        wrong = blockers(pod, node, cluster, claims, supply)
        there = held and node.name not in held
        return Answer(node.name, elsewhere if there else tuple(wrong), None, names, without)

    return WhyPending(
        pod,
        (
            *(f"the scheduling gate {gate} holds it back" for gate in pod.gates),
            *(f"the {kind} {name} is not there" for kind, name in missing(cluster, pod)),
        ),
        tuple(answer(*part) for part in (groups and groups.of(pod)) or alone),
        pool_answers(cluster, pod),
        unseen(pod),
        same,
        listed=None if groups is None else 3,
    )


@lru_cache(maxsize=1)
def proofs(cluster: Dump) -> tuple[WhyPending, ...]:
    """One proof for each shape of pods that wait for GPUs, in the order of their names."""
    shapes: dict[str, list[SeenPod]] = {}
    for pod in cluster.pods:
        if pod.waits and pod.wants_gpus:
            shapes.setdefault(shape(pod), []).append(pod)
    groups = Groups(cluster)
    return tuple(prove(cluster, pods[0], groups, len(pods)) for pods in shapes.values())
