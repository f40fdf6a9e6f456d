"""Everything of a dump: objects by kind, pods by node, what is used, events and logs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.observed import Seen, SeenNode, SeenPod, text


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object."""

    reason: str
    message: str


@dataclass(frozen=True, eq=False)
class Dump:
    """Everything of a dump."""

    seen: tuple[Seen, ...]
    logs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name of a pod -> its log, where a folder has it."""

    @cached_property
    def by_kind(self) -> dict[str, dict[tuple[str, str], Seen]]:
        """Objects by kind, then namespace and name: the last one of a name counts."""
        found: dict[str, dict[tuple[str, str], Seen]] = defaultdict(dict)
        for one in self.seen:
            found[one.kind][one.namespace, one.name] = one
        return found

    def all(self, kind: str) -> list[Seen]:
        """Objects of a kind."""
        return list(self.by_kind[kind].values()) if kind in self.by_kind else []

    def get(self, kind: str, name: str, namespace: str = "") -> Seen | None:
        """An object by its name."""
        return self.by_kind[kind].get((namespace, name)) if kind in self.by_kind else None

    def has(self, kind: str) -> bool:
        """Whether the dump has objects of a kind: else nothing is known about it."""
        return bool(self.by_kind.get(kind))

    @cached_property
    def nodes(self) -> dict[str, SeenNode]:
        """Nodes by name."""
        return {one.name: one for one in self.all("Node") if isinstance(one, SeenNode)}

    @cached_property
    def pods(self) -> list[SeenPod]:
        """Every pod."""
        return [one for one in self.all("Pod") if isinstance(one, SeenPod)]

    @cached_property
    def pods_on(self) -> dict[str, list[SeenPod]]:
        """Pods that have not ended, by node."""
        found: dict[str, list[SeenPod]] = defaultdict(list)
        for pod in self.pods:
            if pod.node and not pod.ended:
                found[pod.node].append(pod)
        return found

    @cached_property
    def used(self) -> dict[str, dict[str, Fraction]]:
        """What pods of each node ask for together."""
        found: dict[str, dict[str, Fraction]] = {}
        for name, pods in self.pods_on.items():
            total: dict[str, Fraction] = defaultdict(Fraction)
            for pod in pods:
                for resource, value in pod.requests.items():
                    total[resource] += value
            found[name] = total
        return found

    def free(self, node: SeenNode, resource: str) -> Fraction:
        """What is left of a resource on a node."""
        given = node.allocatable.get(resource, Fraction(0))
        return given - self.used.get(node.name, {}).get(resource, Fraction(0))

    @cached_property
    def events(self) -> dict[tuple[str, str, str], list[Event]]:
        """Events by kind, namespace and name of their object."""
        found: dict[tuple[str, str, str], list[Event]] = defaultdict(list)
        for one in self.all("Event"):
            about = mapping(one.raw.get("involvedObject") or one.raw.get("regarding"))
            key = tuple(text(about.get(part)) for part in ("kind", "namespace", "name"))
            said = text(one.raw.get("message")) or text(one.raw.get("note"))
            found[key[0], key[1], key[2]].append(Event(text(one.raw.get("reason")), said))
        return found

    def events_of(self, one: Seen) -> list[Event]:
        """Events about an object."""
        return self.events.get((one.kind, one.namespace, one.name), [])

    def said_of(self, pod: SeenPod) -> str:
        """Messages about a pod: of its container that does not run, and of its events."""
        trouble = pod.trouble
        told = (event.message for event in self.events_of(pod))
        return " ".join([trouble.message if trouble else "", *told])

    @cached_property
    def latest(self) -> str:
        """The latest moment that a condition names: about when the dump was made; empty without."""
        return max(
            (
                text(one.get(key))
                for seen in (*self.nodes.values(), *self.pods)
                for one in seen.conditions.values()
                for key in ("lastHeartbeatTime", "lastTransitionTime")
            ),
            default="",
        )

    def minutes_since(self, moment: object) -> float | None:
        """Minutes from a moment to the latest one; None where either is not known."""
        try:
            first = datetime.fromisoformat(text(moment))
            return (datetime.fromisoformat(self.latest) - first).total_seconds() / 60
        except (ValueError, TypeError):
            return None

    @cached_property
    def dra_nodes(self) -> frozenset[str]:
        """Nodes of which ResourceSlices of GPUs are published."""
        return frozenset(
            text(one.spec.get("nodeName"))
            for one in self.all("ResourceSlice")
            if "gpu" in text(one.spec.get("driver"))
        )


_CLASSES: dict[str, type[Seen]] = {"Node": SeenNode, "Pod": SeenPod}
_DROPPED = frozenset({"Secret", "ManagedFieldsEntry"})
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def cluster_of(raws: Iterable[Any], logs: Mapping[str, str] | None = None) -> Dump:
    """The cluster of a dump. Secrets and variables of containers are dropped unread."""
    seen = tuple(
        _CLASSES.get(text(raw.get("kind")), Seen)(raw)
        for raw in _opened(raws)
        if text(raw.get("kind")) not in _DROPPED
    )
    return Dump(seen, logs or {})


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
    metadata = mapping(raw.get("metadata"))
    metadata.pop("managedFields", None)
    mapping(metadata.get("annotations")).pop(_APPLIED, None)
    spec = mapping(raw.get("spec"))
    for holder in (spec, mapping(mapping(spec.get("template")).get("spec"))):
        for key in ("initContainers", "containers", "ephemeralContainers"):
            for one in map(mapping, items(holder.get(key))):
                one.pop("env", None)
                one.pop("envFrom", None)
