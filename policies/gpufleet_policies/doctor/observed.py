"""Objects of a dump as the doctor reads them: nodes, pods, and what both ask and give.

A field that is not there, or has another shape, is empty: nothing follows from it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from gpufleet.change.live_node import LiveNode, live_node
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import items, mapping

DOMAINS = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/", "aws.amazon.com/neuron")
"""Domains of extended resources that are GPUs or parts of them; TPUs of Google are `google.com/tpu`.
"""
ENDED = frozenset({"Succeeded", "Failed"})
PRESENT, PRODUCT = "nvidia.com/gpu.present", "nvidia.com/gpu.product"
PCI = re.compile(r"feature\.node\.kubernetes\.io/pci-(03\d\d_)?10de\.present")
"""What Node Feature Discovery writes for a card of NVIDIA (NVIDIA/gpu-operator `hack/must-gather.sh`)."""
_CLOUD_GPU = (
    "karpenter.k8s.aws/instance-gpu-count",
    "cloud.google.com/gke-accelerator",
    "k8s.amazonaws.com/accelerator",
    "gpufleet.dev/simulated",
)


def is_device(name: str) -> bool:
    """Whether an extended resource is a GPU, a part of one, or another accelerator."""
    return name.startswith(DOMAINS) or name == "google.com/tpu"


def text(value: object) -> str:
    """The text; empty where the value is not one."""
    return value if isinstance(value, str) else ""


def amounts(value: object) -> dict[str, Fraction]:
    """Resources and their quantities; what is not a quantity is left out."""
    found: dict[str, Fraction] = {}
    for name, one in mapping(value).items():
        number = quantity(str(one))
        if number is not None:
            found[name] = number
    return found


@dataclass(frozen=True, eq=False)
class Seen:
    """One object of the dump."""

    raw: dict[str, Any]

    @cached_property
    def kind(self) -> str:
        """`Node`."""
        return text(self.raw.get("kind"))

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """Its metadata."""
        return mapping(self.raw.get("metadata"))

    @cached_property
    def name(self) -> str:
        """Its name."""
        return text(self.metadata.get("name"))

    @cached_property
    def namespace(self) -> str:
        """Its namespace; empty for objects without one."""
        return text(self.metadata.get("namespace"))

    @cached_property
    def ref(self) -> str:
        """`Pod/ml/train`: how findings name it."""
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return {key: str(value) for key, value in mapping(self.metadata.get("labels")).items()}

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        found = mapping(self.metadata.get("annotations"))
        return {key: str(value) for key, value in found.items()}

    @cached_property
    def spec(self) -> dict[str, Any]:
        """Its specification."""
        return mapping(self.raw.get("spec"))

    @cached_property
    def status(self) -> dict[str, Any]:
        """Its status."""
        return mapping(self.raw.get("status"))

    @cached_property
    def conditions(self) -> dict[str, dict[str, Any]]:
        """Conditions of the status by type."""
        found = items(self.status.get("conditions"))
        return {text(mapping(one).get("type")): mapping(one) for one in found}

    @cached_property
    def owner(self) -> tuple[str, str]:
        """Kind and name of the controller that made it; empty texts without one."""
        for one in map(mapping, items(self.metadata.get("ownerReferences"))):
            if one.get("controller") is True:
                return text(one.get("kind")), text(one.get("name"))
        return "", ""


@dataclass(frozen=True, eq=False)
class Node(Seen):
    """A node."""

    @cached_property
    def live(self) -> LiveNode:
        """What plans of changes read of it."""
        return live_node(self.raw)

    @cached_property
    def allocatable(self) -> dict[str, Fraction]:
        """What pods may ask of it."""
        return amounts(self.status.get("allocatable"))

    @cached_property
    def capacity(self) -> dict[str, Fraction]:
        """The same with unhealthy devices and what the system keeps."""
        return amounts(self.status.get("capacity"))

    @cached_property
    def devices(self) -> dict[str, int]:
        """Accelerators that pods may ask for, zeros included."""
        return {n: int(v) for n, v in self.allocatable.items() if is_device(n)}

    @cached_property
    def taints(self) -> list[dict[str, Any]]:
        """Its taints."""
        return [mapping(one) for one in items(self.spec.get("taints"))]

    @property
    def has_gpus(self) -> int:
        """GPUs, slices or shares that it gives when it is well: registered, else counted."""
        registered = sum(int(v) for n, v in self.capacity.items() if is_device(n))
        counted = self.labels.get("nvidia.com/gpu.count", "")
        return registered or (int(counted) if counted.isdecimal() else 0)

    @cached_property
    def has_nvidia(self) -> bool:
        """Whether labels or resources say that NVIDIA GPUs are in it."""
        return (
            self.labels.get(PRESENT) == "true"
            or any(n.startswith("nvidia.com/") for n in (*self.capacity, *self.allocatable))
            or any(PCI.fullmatch(key) and value == "true" for key, value in self.labels.items())
            or any(key in self.labels for key in _CLOUD_GPU)
        )


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a container of a pod does not run."""

    container: str
    reason: str
    """`CrashLoopBackOff`."""
    message: str
    restarts: int
    place: str
    """Field path of what says so."""


_FAILS = frozenset(
    {
        *("CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "InvalidImageName"),
        *("ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError"),
        *("RunContainerError", "StartError", "ContainerCannotRun"),
    }
)
NO_IMAGE = frozenset({"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"})


@dataclass(frozen=True, eq=False)
class Pod(Seen):
    """A pod."""

    @cached_property
    def node(self) -> str:
        """The node it is bound to; empty while it waits."""
        return text(self.spec.get("nodeName"))

    @cached_property
    def phase(self) -> str:
        """`Pending`."""
        return text(self.status.get("phase"))

    @property
    def ended(self) -> bool:
        """Whether its containers have ended for good."""
        return self.phase in ENDED

    @property
    def waits(self) -> bool:
        """Whether the scheduler has not bound it."""
        return not self.node and not self.ended and "deletionTimestamp" not in self.metadata

    @cached_property
    def gates(self) -> tuple[str, ...]:
        """Names of its scheduling gates."""
        return tuple(text(mapping(g).get("name")) for g in items(self.spec.get("schedulingGates")))

    @cached_property
    def containers(self) -> list[dict[str, Any]]:
        """Its containers, those that initialise it first."""
        both = (*items(self.spec.get("initContainers")), *items(self.spec.get("containers")))
        return [mapping(one) for one in both]

    @cached_property
    def requests(self) -> dict[str, Fraction]:
        """What the scheduler reserves for it (kubernetes `pkg/api/v1/resource` PodRequests)."""
        return pod_requests(self.spec)

    @cached_property
    def devices(self) -> dict[str, int]:
        """Accelerators that it asks for."""
        return {n: int(v) for n, v in self.requests.items() if is_device(n) and v}

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Its entries of `resourceClaims`."""
        return [mapping(one) for one in items(self.spec.get("resourceClaims"))]

    @property
    def wants_gpus(self) -> bool:
        """Whether it asks for accelerators, by resources or claims."""
        return bool(self.devices or self.claims)

    @property
    def scheduler(self) -> str:
        """The scheduler that must bind it."""
        return text(self.spec.get("schedulerName")) or "default-scheduler"

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Images of its containers."""
        return tuple(text(one.get("image")) for one in self.containers)

    @cached_property
    def trouble(self) -> Trouble | None:
        """The first container that does not come up."""
        for key in ("initContainerStatuses", "containerStatuses"):
            for index, one in enumerate(map(mapping, items(self.status.get(key)))):
                state = mapping(one.get("state"))
                waiting = mapping(state.get("waiting"))
                ended = mapping(state.get("terminated"))
                place = f"status.{key}[{index}].state"
                last = mapping(mapping(one.get("lastState")).get("terminated"))
                restarts = one.get("restartCount")
                count = restarts if isinstance(restarts, int) else 0
                if text(waiting.get("reason")) in _FAILS:
                    said = f"{text(waiting.get('message'))} {text(last.get('message'))}"
                    reason, at = text(waiting.get("reason")), f"{place}.waiting.reason"
                    return Trouble(text(one.get("name")), reason, said, count, at)
                if text(ended.get("reason")) in {"StartError", "ContainerCannotRun"}:
                    reason, at = text(ended.get("reason")), f"{place}.terminated.reason"
                    said = text(ended.get("message"))
                    return Trouble(text(one.get("name")), reason, said, count, at)
        return None

    @property
    def ready(self) -> bool:
        """Whether its condition Ready is True."""
        return self.conditions.get("Ready", {}).get("status") == "True"


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Containers together or the largest one that initialises, whichever is more, and overhead."""
    together: dict[str, Fraction] = defaultdict(Fraction)
    for one in map(mapping, items(spec.get("containers"))):
        for name, value in _asked(one).items():
            together[name] += value
    before: dict[str, Fraction] = {}
    beside: dict[str, Fraction] = defaultdict(Fraction)
    for one in map(mapping, items(spec.get("initContainers"))):
        asked = _asked(one)
        if one.get("restartPolicy") == "Always":
            for name, value in asked.items():
                together[name] += value
                beside[name] += value
        else:
            for name, value in asked.items():
                before[name] = max(before.get(name, Fraction(0)), value + beside[name])
    found = {n: max(together[n], before.get(n, Fraction(0))) for n in {*together, *before}}
    whole = amounts(mapping(mapping(spec.get("resources"))).get("requests"))
    found |= whole
    for name, value in amounts(spec.get("overhead")).items():
        found[name] = found.get(name, Fraction(0)) + value
    return found


def _asked(container: Mapping[str, Any]) -> dict[str, Fraction]:
    resources = mapping(container.get("resources"))
    return amounts(resources.get("limits")) | amounts(resources.get("requests"))


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object."""

    reason: str
    message: str


@dataclass(frozen=True, eq=False)
class Cluster:
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
    def nodes(self) -> dict[str, Node]:
        """Nodes by name."""
        return {one.name: one for one in self.all("Node") if isinstance(one, Node)}

    @cached_property
    def pods(self) -> list[Pod]:
        """Every pod."""
        return [one for one in self.all("Pod") if isinstance(one, Pod)]

    @cached_property
    def pods_on(self) -> dict[str, list[Pod]]:
        """Pods that have not ended, by node."""
        found: dict[str, list[Pod]] = defaultdict(list)
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

    def free(self, node: Node, resource: str) -> Fraction:
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


_CLASSES: dict[str, type[Seen]] = {"Node": Node, "Pod": Pod}
_DROPPED = frozenset({"Secret", "ManagedFieldsEntry"})
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def cluster_of(raws: Iterable[Any], logs: Mapping[str, str] | None = None) -> Cluster:
    """The cluster of a dump. Secrets and variables of containers are dropped before they are read."""
    seen = tuple(
        _CLASSES.get(text(raw.get("kind")), Seen)(raw)
        for raw in _opened(raws)
        if raw.get("kind") not in _DROPPED
    )
    return Cluster(seen, logs or {})


def _opened(raws: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for raw in map(mapping, raws):
        kind = text(raw.get("kind"))
        if isinstance(raw.get("items"), list) and (kind == "List" or kind.endswith("List")):
            for one in _opened(raw["items"]):
                one.setdefault("kind", kind.removesuffix("List"))
                yield one
        elif raw.get("metadata") is not None:
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
