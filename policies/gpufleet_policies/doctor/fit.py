"""Whether a pod fits a node: the filters of kube-scheduler that concern GPUs, in their order.

Sources: kubernetes `pkg/scheduler/apis/config/v1/default_plugins.go` (order), and `framework/
plugins/`: `nodeunschedulable`, `nodename`, `tainttoleration`, `nodeaffinity`, `nodeports`,
`noderesources/fit.go`, `interpodaffinity`, `dynamicresources`, with the phrases of their reasons.
Volumes of a node and spread constraints are not looked at; `unseen` names what a pod has of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.devices import Supply
from gpufleet_policies.doctor.observed import (
    REQUIRED,
    SeenNode,
    SeenPod,
    below,
    entries,
    text,
)
from gpufleet_policies.doctor.operands import KEEPS_AWAY, tolerates
from gpufleet_policies.doctor.snapshot import Dump

_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Blocker:
    """A filter that a node does not pass."""

    filter: str
    """Plugin of kube-scheduler: `TaintToleration`."""
    reason: str
    """Its phrase in the message of the pod's condition."""
    change: str
    """What would pass it."""
    cost: int
    """How much that is: an edit of the pod 1, another pod that must go 3, a request smaller 4."""
    resource: str = ""
    fits_empty: bool = True
    """Of a resource: whether the node has enough of it without its pods."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Why one node does not take the pod, or one NodePool makes no node for it."""

    name: str
    blockers: tuple[Blocker, ...]
    """In the order in which they are asked; empty: it does."""
    said: Blocker | None = None
    """What is said of it where that is not the first of these."""

    @property
    def first(self) -> Blocker:
        """What the scheduler says."""
        return self.said or self.blockers[0]

    @property
    def reason(self) -> str:
        """The same in words; empty: it can."""
        return self.first.reason if self.blockers else ""

    @property
    def change(self) -> str:
        """What would let it."""
        return " and ".join(one.change for one in self.blockers)

    @property
    def cost(self) -> int:
        """How much must change."""
        return sum(one.cost for one in self.blockers)


_TEXTS = {
    "NodeUnschedulable": ("node(s) were unschedulable", "kubectl uncordon {at}", 2),
    "NodeAffinity": ("node(s) didn't match Pod's node affinity/selector", "change {wrong}", 1),
    "NodePorts": (
        "node(s) didn't have free ports for the requested pod ports",
        "take the hostPort away",
        1,
    ),
    "affinity": (
        "node(s) didn't match pod affinity rules",
        "take the required affinity to pods away, or run one of them there",
        2,
    ),
    "anti-affinity": (
        "node(s) didn't match pod anti-affinity rules",
        "take the required anti-affinity away, or free the node",
        2,
    ),
}
"""Filter -> its phrase, what would pass it, how much that is."""


def blockers(
    pod: SeenPod, node: SeenNode, cluster: Dump, claims: Mapping[str, Any], supply: Supply
) -> Iterator[Blocker]:
    """Every filter that a node does not pass, in the order of the scheduler, of which it says the
    first. `claims`: specifications of the pod's claims that are not allocated."""

    def plain(name: str, wrong: str = "") -> Blocker:
        reason, change, cost = _TEXTS[name]
        plugin = "InterPodAffinity" if name.endswith("affinity") else name
        return Blocker(plugin, reason, change.format(at=node.name, wrong=wrong), cost)

    tolerations, cordoned = pod.spec.get("tolerations"), node.spec.get("unschedulable") is True
    if cordoned and not tolerates(tolerations, _CORDONED):
        yield plain("NodeUnschedulable")
    taints = [one for one in node.taints if not cordoned or one.get("key") != _CORDONED["key"]]
    why = "node(s) had untolerated taint {{{key}: {value}}}"
    yield from untolerated("TaintToleration", why, tolerations, taints)
    if not selects(pod.spec, node):
        yield plain("NodeAffinity", selector_text(pod.spec, node))
    here = cluster.pods_on.get(node.name, [])
    ports = _ports(pod.spec)
    if ports and ports & {port for one in here for port in _ports(one.spec)}:
        yield plain("NodePorts")
    most = node.allocatable.get("pods")
    if most is not None and len(here) + 1 > most:
        yield Blocker("NodeResourcesFit", "Too many pods", f"move a pod off {node.name}", 3)
    for name, asked in pod.requests.items():
        if asked and asked > cluster.free(node, name):
            yield _insufficient(node, name, asked, cluster.free(node, name))
    if _is_alone(pod, node, cluster):
        yield plain("affinity")
    if _repelled(pod, node, cluster):
        yield plain("anti-affinity")
    for name, spec in claims.items():
        if supply.gives(spec, node.name) is False:
            change, cost = supply.change(spec, name, node.name)
            whole = supply.gives(spec, node.name, whole=True) is True
            why = "cannot allocate all claims"
            yield Blocker("DynamicResources", why, change, cost, fits_empty=whole)


def untolerated(
    name: str, why: str, tolerations: object, taints: Iterable[dict[str, Any]]
) -> Iterator[Blocker]:
    """Each taint that keeps a pod away, as a filter says it."""
    for taint in taints:
        if taint.get("effect") in KEEPS_AWAY and not tolerates(tolerations, taint):
            named = {part: text(taint.get(part)) for part in ("key", "value", "effect")}
            change = "add the toleration {{key: {key}, operator: Exists, effect: {effect}}}"
            cost = 9 if named["key"].startswith("node.kubernetes.io/") else 1
            yield Blocker(name, why.format_map(named), change.format_map(named), cost)


def _insufficient(node: SeenNode, name: str, asked: Fraction, free: Fraction) -> Blocker:
    whole = node.allocatable.get(name, Fraction(0))
    if asked <= whole:
        change, cost = f"free {shown(name, asked - free)} of {name} on {node.name}", 3
    elif free > 0:
        change, cost = f"ask for at most {shown(name, free)} of {name}", 4
    elif whole:
        most = f"ask for at most {shown(name, whole)} of {name}"
        change, cost = f"{most} and free it on {node.name}", 5
    else:
        change, cost = f"ask for a resource that {node.name} offers instead of {name}", 6
    why = f"Insufficient {name}"
    return Blocker("NodeResourcesFit", why, change, cost, name, asked <= whole)


def shown(name: str, amount: Fraction) -> str:
    """An amount of a resource as people write it."""
    if name == "cpu":
        return f"{float(amount):g}"
    if name in {"memory", "ephemeral-storage"}:
        return f"{float(amount / _GIB):.4g}Gi"
    return str(int(amount))


def _ports(spec: Mapping[str, Any]) -> set[tuple[str, int]]:
    return {
        (text(port.get("protocol")) or "TCP", port["hostPort"])
        for one in entries(spec, "containers")
        for port in entries(one, "ports")
        if isinstance(port.get("hostPort"), int)
    }


def required_terms(spec: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Terms of the required node affinity, of which one is enough; None: there is none."""
    required = below(spec, "affinity.nodeAffinity").get(REQUIRED)
    return None if required is None else entries(required, "nodeSelectorTerms")


def selects(spec: Mapping[str, Any], node: SeenNode) -> bool:
    """Whether nodeSelector and required node affinity admit a node."""
    if any(node.labels.get(k) != v for k, v in mapping(spec.get("nodeSelector")).items()):
        return False
    name = text(spec.get("nodeName"))
    if name and name != node.name:
        return False
    terms = required_terms(spec)
    return terms is None or any(_term(one, node) for one in terms)


def _term(term: Mapping[str, Any], node: SeenNode) -> bool:
    labels, fields = items(term.get("matchExpressions")), items(term.get("matchFields"))
    if not labels and not fields:
        return False
    return all(meets(mapping(one), node.labels) for one in labels) and all(
        meets(mapping(one), {"metadata.name": node.name}) for one in fields
    )


def meets(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy one requirement (apimachinery `pkg/labels` Requirement.Matches)."""
    key, operator = text(requirement.get("key")), requirement.get("operator")
    values = [str(one) for one in items(requirement.get("values"))]
    value = labels.get(key)
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            if value is None or not value.isdecimal() or not values or not values[0].isdecimal():
                return False
            return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])
        case _:
            return False


def chooses(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector chooses labels (apimachinery LabelSelectorAsSelector)."""
    equal, rules = below(selector, "matchLabels"), entries(selector, "matchExpressions")
    return all(labels.get(k) == v for k, v in equal.items()) and all(
        meets(one, labels) for one in rules
    )


def selector_text(spec: Mapping[str, Any], node: SeenNode) -> str:
    """The part of a pod's selection that a node does not satisfy."""
    wrong = [
        f"nodeSelector {key}={value} to {node.labels.get(key, 'a label that nodes have')}"
        for key, value in mapping(spec.get("nodeSelector")).items()
        if node.labels.get(key) != value
    ]
    for term in required_terms(spec) or ():
        wrong += [
            f"the required affinity {one.get('key')} {one.get('operator')} "
            f"{', '.join(map(str, items(one.get('values'))))}".rstrip()
            for one in map(mapping, items(term.get("matchExpressions")))
            if not meets(one, node.labels)
        ]
    return "; ".join(wrong[:2]) or "the node selection"


def _is_alone(pod: SeenPod, node: SeenNode, cluster: Dump) -> bool:
    """Whether the pods beside which a pod must run are not there; the first one may be alone."""
    terms = entries(pod.spec, f"affinity.podAffinity.{REQUIRED}")
    keys = [text(term.get("topologyKey")) for term in terms]
    if not terms or any(key not in node.labels for key in keys):
        return bool(terms)
    others = [
        cluster.nodes[name].labels
        for name, pods in cluster.pods_on.items()
        for other in pods
        if name in cluster.nodes and all(_matches(term, pod, other) for term in terms)
    ]
    if not others:
        return not all(_matches(term, pod, pod) for term in terms)
    return not all(any(one.get(key) == node.labels[key] for one in others) for key in keys)


def _matches(term: Mapping[str, Any], owner: SeenPod, other: SeenPod) -> bool:
    namespaces = items(term.get("namespaces")) or [owner.namespace]
    if other.namespace not in namespaces and term.get("namespaceSelector") is None:
        return False
    return chooses(mapping(term.get("labelSelector")), other.labels)


def _repelled(pod: SeenPod, node: SeenNode, cluster: Dump) -> bool:
    for term in pod.apart_from:
        key = text(term.get("topologyKey"))
        given = node.labels.get(key)
        same = (one for one in cluster.nodes.values() if given and one.labels.get(key) == given)
        others = (other for one in same for other in cluster.pods_on.get(one.name, ()))
        if any(_matches(term, pod, other) for other in others):
            return True
    return any(
        _matches(term, other, pod)
        for other in cluster.pods_on.get(node.name, ())
        for term in other.apart_from
        if text(term.get("topologyKey")) in node.labels
    )


def unseen(pod: SeenPod) -> tuple[str, ...]:
    """Parts of a pod that filters not looked at here decide on."""
    spreads = entries(pod.spec, "topologySpreadConstraints")
    found = {
        "spread constraints": any(
            one.get("whenUnsatisfiable") == "DoNotSchedule" for one in spreads
        ),
        "zones of volumes": any(
            "persistentVolumeClaim" in one for one in entries(pod.spec, "volumes")
        ),
    }
    return tuple(name for name, there in found.items() if there)
