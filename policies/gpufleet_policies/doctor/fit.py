"""Whether a pod fits a node: the filters of kube-scheduler that concern GPUs, in their order.

Sources: kubernetes `pkg/scheduler/apis/config/v1/default_plugins.go` (order), and `framework/
plugins/`: `nodeunschedulable`, `nodename`, `tainttoleration`, `nodeaffinity`, `nodeports`,
`noderesources/fit.go`, `interpodaffinity`, `dynamicresources`, with the phrases of their reasons.
Volumes of a node and spread constraints are not looked at; `unseen` names what a pod has of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.blockers import Blocker, blocker
from gpufleet_policies.doctor.devices import Supply
from gpufleet_policies.doctor.observed import SeenNode, SeenPod, entries, repelling, text
from gpufleet_policies.doctor.snapshot import Dump
from gpufleet_policies.readers.scheduling import REQUIRED, meets, selections, selects

_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_GIB = 1 << 30


def blockers(
    pod: SeenPod, node: SeenNode, cluster: Dump, claims: Mapping[str, Any], supply: Supply
) -> Iterator[Blocker]:
    """Every filter that a node does not pass, in the order of the scheduler, which reports the
    first. `claims`: specifications of the pod's claims that are not allocated."""

    tolerations, cordoned = pod.spec.get("tolerations"), node.spec.get("unschedulable") is True
    if cordoned and any(repelling([_CORDONED], tolerations)):
        yield blocker("cordoned", at=node.name)
    taints = [one for one in node.taints if not cordoned or one.get("key") != _CORDONED["key"]]
    yield from untolerated("taint", tolerations, taints)
    if wrong := unmet(pod.spec, node):
        yield blocker("selection", why=" and ".join(wrong))
    here = cluster.pods_on.get(node.name, [])
    ports = host_ports(pod.spec)
    if ports and ports & {port for one in here for port in host_ports(one.spec)}:
        yield blocker("ports")
    most = node.allocatable.get("pods")
    if most is not None and len(here) + 1 > most:
        yield blocker("pods", at=node.name)
    for name, asked in pod.requests.items():
        if asked and asked > cluster.free(node, name):
            yield _insufficient(node, name, asked, cluster.free(node, name))
    if _is_alone(pod, node, cluster):
        yield blocker("affinity")
    if _repelled(pod, node, cluster):
        yield blocker("anti-affinity")
    for name, spec in claims.items():
        if supply.gives(spec, node.name) is False:
            yield supply.lack(spec, name, node.name)


def untolerated(
    name: str, tolerations: object, taints: Iterable[dict[str, Any]]
) -> Iterator[Blocker]:
    """Each taint that repels a pod, in the words of the filter."""
    for one in repelling(taints, tolerations):
        times = 9 if one["key"].startswith("node.kubernetes.io/") else 1
        key, value, effect, why = one.values()
        yield blocker(name, "", why, times=times, key=key, value=value, effect=effect)


def _insufficient(node: SeenNode, name: str, asked: Fraction, free: Fraction) -> Blocker:
    whole = node.allocatable.get(name, Fraction(0))
    row = "above what is free" if free > 0 else "above the node" if whole else "not offered"
    lacks, left, given = (shown(name, one) for one in (asked - free, free, whole))
    row = "busy" if asked <= whole else row
    return blocker(row, name, at=node.name, lacks=lacks, free=left, whole=given)


def shown(name: str, amount: Fraction) -> str:
    """An amount of a resource as people write it."""
    if name == "cpu":
        return f"{float(amount):g}"
    if name in {"memory", "ephemeral-storage"}:
        return f"{float(amount / _GIB):.4g}Gi"
    return str(int(amount))


def host_ports(spec: Mapping[str, Any]) -> set[tuple[str, int]]:
    """Protocols and ports of the node that containers of a pod take."""
    return {
        (text(port.get("protocol")) or "TCP", port["hostPort"])
        for one in entries(spec, "containers")
        for port in entries(one, "ports")
        if isinstance(port.get("hostPort"), int)
    }


def asked_text(requirement: Mapping[str, Any]) -> str:
    """A requirement in words."""
    values = ", ".join(map(str, items(requirement.get("values"))))
    return f"{requirement.get('key')} {requirement.get('operator')} {values}".rstrip()


def unmet(spec: Mapping[str, Any], node: SeenNode) -> list[str]:
    """Unsatisfied parts of the alternative with the fewest; empty: the node is selected."""
    labels = {**node.labels, "metadata.name": node.name}
    name, none = node.name, "no such label"
    wrong = (
        [
            f"{asked_text(one)} ({name} has {labels.get(text(one.get('key')), none)})"
            for one in alternative
            if not meets(one, labels)
        ]
        for alternative in selections(spec)
    )
    return min(wrong, key=len, default=["the required node affinity, which has no term"])


def _is_alone(pod: SeenPod, node: SeenNode, cluster: Dump) -> bool:
    """Whether no pod of the required pod affinity exists; the first such pod may be alone."""
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
    return selects(mapping(term.get("labelSelector")), other.labels)


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
    spreads, volumes = (entries(pod.spec, k) for k in ("topologySpreadConstraints", "volumes"))
    hard = any(one.get("whenUnsatisfiable") == "DoNotSchedule" for one in spreads)
    claims = any("persistentVolumeClaim" in one for one in volumes)
    return ("spread constraints",) * hard + ("zones of volumes",) * claims
