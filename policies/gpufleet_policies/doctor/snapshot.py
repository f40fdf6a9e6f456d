"""Everything of a dump: objects by kind, pods by node, what is used, events and logs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from gpufleet.documents.shapes import mapping
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod, below, entries, text


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object."""

    reason: str
    message: str


class Dump:
    """Everything of a dump.

    Attributes:
        seen: Every object.
        logs: Name of a pod -> its log, where a folder has it.
        nodes: Nodes by name.
        pods_on: Pods that have not ended, by node.
        used: What pods of each node ask for together.
        events: Events by kind, namespace and name of their object.
        latest: The latest moment that a condition names: about when the dump was made; empty
            without.
        dra_nodes: Nodes of which ResourceSlices publish GPUs.
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
        self.events: dict[tuple[str, str, str], list[Event]] = defaultdict(list)
        for one in self.all("Event"):
            about = mapping(one.raw.get("involvedObject") or one.raw.get("regarding"))
            kind, namespace, name = (text(about.get(k)) for k in ("kind", "namespace", "name"))
            said = text(one.raw.get("message")) or text(one.raw.get("note"))
            reason = text(one.raw.get("reason"))
            self.events[kind, namespace, name].append(Event(reason, said))
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

    def has(self, kind: str) -> bool:
        """Whether the dump has objects of a kind: else nothing is known about it."""
        return kind in self._kinds

    def free(self, node: SeenNode, resource: str) -> Fraction:
        """What is left of a resource on a node."""
        given = node.allocatable.get(resource, Fraction(0))
        return given - self.used.get(node.name, {}).get(resource, Fraction(0))

    def events_of(self, one: Seen) -> list[Event]:
        """Events about an object."""
        return self.events.get((one.kind, one.namespace, one.name), [])

    def sayings(self, pod: SeenPod) -> Iterator[tuple[str, str]]:
        """What is said of a pod, and where: by its kubelet, of its container that does not run, by
        events."""
        yield "status.message", text(pod.status.get("message"))
        if pod.trouble is not None:
            yield "status.containerStatuses[].state", pod.trouble.message
        if not (pod.ended or pod.holds("Ready")):  # what kept it from starting has passed
            yield from ((f"events[{one.reason}]", one.message) for one in self.events_of(pod))

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
        kind = text(raw.get("kind"))
        if isinstance(raw.get("items"), list) and (kind == "List" or kind.endswith("List")):
            for one in _opened(raw["items"]):
                one.setdefault("kind", kind.removesuffix("List"))
                yield one
        elif text(mapping(raw.get("metadata")).get("name")):
            _without_values(raw)
            yield raw


def _without_values(raw: dict[str, Any]) -> None:
    """Take away what no cause reads and what can hold a credential."""
    mapping(raw.get("metadata")).pop("managedFields", None)
    below(raw, "metadata.annotations").pop(_APPLIED, None)
    for holder in ("spec", "spec.template.spec"):
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for one in entries(raw, f"{holder}.{key}"):
                one.pop("env", None)
                one.pop("envFrom", None)
