"""Objects of a dump as the doctor reads them: nodes, pods, and what both ask and give.

A field that is not there, or has another shape, is empty: nothing follows from it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from gpufleet.change.live_node import LiveNode, live_node
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import items, mapping

DOMAINS = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/", "aws.amazon.com/neuron")
"""Domains of extended resources that are GPUs or parts of them, beside `google.com/tpu`."""
ENDED = frozenset({"Succeeded", "Failed"})
PRESENT, PRODUCT = "nvidia.com/gpu.present", "nvidia.com/gpu.product"
PCI = re.compile(r"feature\.node\.kubernetes\.io/pci-(03\d\d_)?10de\.present")
"""What Node Feature Discovery writes for a card of NVIDIA (gpu-operator `hack/must-gather.sh`)."""
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
class SeenNode(Seen):
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
class SeenPod(Seen):
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
