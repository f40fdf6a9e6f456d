"""Everything of a dump: objects by kind, pods by node, what is used, events and logs. And operands
of GPU nodes: which part a pod plays.

Their names and labels: NVIDIA/gpu-operator `assets/state-*`, the charts of NVIDIA/k8s-device-plugin
and kubernetes-sigs/dra-driver-nvidia-gpu, GoogleCloudPlatform/container-engine-accelerators.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any

from gpufleet.documents.paths import mapping_at
from gpufleet.documents.shapes import is_list, mapping
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod, entries, repelling, text
from gpufleet_policies.names import meanings
from gpufleet_policies.readers.members import typed_member


class Dump:
    """All contents of a dump.

    Attributes:
        seen: Every object.
        logs: Name of a pod -> its log, where a folder has it.
        nodes: Nodes by name.
        pods_on: Pods that have not ended, by node.
        used: Sum of the requests of each node's pods.
        events: Reason and message of events by kind, namespace and name of their object.
        latest: The latest time in a condition: approximately when the dump was made; empty
        without one.
        dra_nodes: Nodes whose GPUs are in ResourceSlices.
    """

    def __init__(self, seen: Iterable[Seen], logs: Mapping[str, str]) -> None:
        """Sort objects; of those of one kind, namespace and name the last one counts."""
        self.seen, self.logs = tuple(seen), logs
        self._kinds: dict[str, dict[tuple[str, str], Seen]] = defaultdict(dict)
        for one in self.seen:
            self._kinds[one.kind][one.namespace, one.name] = one
        self.nodes = {one.name: one for one in self.all("Node") if isinstance(one, SeenNode)}
        self.pods = [one for one in self.all("Pod") if isinstance(one, SeenPod)]
        self.pods_on: dict[str, list[SeenPod]] = defaultdict(list)
        self.used: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for pod in self.pods:
            if pod.node and not pod.ended:
                self.pods_on[pod.node].append(pod)
                for resource, value in pod.requests.items():
                    self.used[pod.node][resource] += value
        self.events: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
        for one in self.all("Event"):
            about = mapping(one.raw.get("involvedObject") or one.raw.get("regarding"))
            kind, namespace, name = (text(about.get(k)) for k in ("kind", "namespace", "name"))
            said = text(one.raw.get("message")) or text(one.raw.get("note"))
            self.events[kind, namespace, name].append((text(one.raw.get("reason")), said))
        moments = ("lastHeartbeatTime", "lastTransitionTime")
        known = (c for one in (*self.nodes.values(), *self.pods) for c in one.conditions.values())
        self.latest = max((text(one.get(key)) for one in known for key in moments), default="")
        self.dra_nodes = frozenset(
            text(one.spec.get("nodeName"))
            for one in self.all("ResourceSlice")
            if "gpu" in text(one.spec.get("driver")) and entries(one.spec, "devices")
        )

    def all(self, kind: str) -> list[Seen]:
        """Objects of a kind."""
        return list(self._kinds.get(kind, {}).values())

    def get(self, kind: str, name: str, namespace: str = "") -> Seen | None:
        """An object by its name."""
        return self._kinds.get(kind, {}).get((namespace, name))

    def free(self, node: SeenNode, resource: str) -> Fraction:
        """Free amount of a resource on a node."""
        given = node.allocatable.get(resource, Fraction(0))
        return given - self.used.get(node.name, {}).get(resource, Fraction(0))

    def events_of(self, one: Seen) -> list[tuple[str, str]]:
        """Reasons and messages of events about an object."""
        return self.events.get((one.kind, one.namespace, one.name), [])

    def sayings(self, pod: SeenPod) -> Iterator[tuple[str, str]]:
        """Reports about a pod, with fields: by its kubelet, of its failing container, by events."""
        yield "status.message", text(pod.status.get("message"))
        if pod.trouble is not None:
            yield "status.containerStatuses[].state", pod.trouble.message
        if not (pod.ended or pod.holds("Ready")):  # what kept it from starting has passed
            yield from ((f"events[{reason}]", said) for reason, said in self.events_of(pod))

    def minutes_since(self, moment: object) -> float | None:
        """Minutes from a moment to the latest one; None where either is not known."""
        try:
            first = datetime.fromisoformat(text(moment))
            return (datetime.fromisoformat(self.latest) - first).total_seconds() / 60
        except (ValueError, TypeError):
            return None


_CLASSES: dict[str, type[Seen]] = {"Node": SeenNode, "Pod": SeenPod}
_DROPPED = frozenset({"Secret", "ManagedFieldsEntry"})
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def cluster_of(raws: Iterable[Any], logs: Mapping[str, str] | None = None) -> Dump:
    """The cluster of a dump. Secrets and variables of containers are dropped unread."""
    kept = (raw for raw in _opened(raws) if text(raw.get("kind")) not in _DROPPED)
    return Dump((_CLASSES.get(text(raw.get("kind")), Seen)(raw) for raw in kept), logs or {})


def _opened(raws: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for raw in map(mapping, raws):
        if is_list(raw.get("items")) and text(raw.get("kind")).endswith("List"):
            yield from _opened(typed_member(raw, one) for one in raw["items"])
        elif text(mapping(raw.get("metadata")).get("name")):
            _without_values(raw)
            yield raw


def _without_values(raw: dict[str, Any]) -> None:
    """Take away what no cause reads and what can hold a credential."""
    mapping(raw.get("metadata")).pop("managedFields", None)
    mapping_at(raw, "metadata.annotations").pop(_APPLIED, None)
    for holder in ("spec", "spec.template.spec"):
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for one in entries(raw, f"{holder}.{key}"):
                one.pop("env", None)
                one.pop("envFrom", None)


class Part(StrEnum):
    """Operands in the order of their dependencies."""

    DRIVER = "driver"
    TOOLKIT = "toolkit"
    MPS = "MPS daemon"
    PLUGIN = "device plugin"
    DISCOVERY = "feature discovery"
    MIG = "MIG manager"
    VALIDATOR = "validator"
    DRA = "DRA driver"


_NAMES = {Part(part): form for part, form in meanings("names of an operand's pods").items()}
"""Names of pods; the first that fits counts."""
_PLUGIN = re.compile(r"/(?:k8s-device-plugin|nvidia-gpu-device-plugin)[:@]")


@cache
def part_of(name: str, images: tuple[str, ...]) -> Part | None:
    """The part that a pod or DaemonSet plays; None: none of these."""
    found = next((part for part, form in _NAMES.items() if re.search(form, name)), None)
    return Part.PLUGIN if found is None and any(map(_PLUGIN.search, images)) else found


def operands(cluster: Dump, node: str = "") -> list[tuple[Part, SeenPod]]:
    """Pods on nodes, or on one of them, that play a part, the parts in their order."""
    nodes = cluster.pods_on.values() if not node else [cluster.pods_on.get(node, [])]
    pods = (pod for pods in nodes for pod in pods)
    named = ((part_of(pod.name, () if pod.wants_gpus else pod.images), pod) for pod in pods)
    found = [(part, pod) for part, pod in named if part is not None]
    return sorted(found, key=lambda one: (list(Part).index(one[0]), one[1].ref))


def parts_on(cluster: Dump, node: SeenNode) -> set[Part]:
    """Parts that are played on a node."""
    return {part for part, _ in operands(cluster, node.name)}


def sets(cluster: Dump, part: Part) -> list[Seen]:
    """DaemonSets that play a part."""
    made = (
        (one, entries(one.spec, "template.spec.containers")) for one in cluster.all("DaemonSet")
    )
    named = ((one, tuple(text(c.get("image")) for c in containers)) for one, containers in made)
    return [one for one, images in named if part_of(one.name, images) is part]


def kept_by(daemon_set: Seen, node: SeenNode) -> dict[str, str] | None:
    """The first taint of a node that the pods of a DaemonSet do not tolerate, in addition to the
    tolerations of all DaemonSets (kubernetes `pkg/controller/daemon/util`)."""
    kept = repelling(node.taints, mapping_at(daemon_set.spec, "template.spec").get("tolerations"))
    return next((one for one in kept if not one["key"].startswith("node.kubernetes.io/")), None)
