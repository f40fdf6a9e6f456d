"""Workload: one object that makes pods, reduced to what rules ask about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from gpufleet_policies.facts.intent import Intent
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.tristate import Fact, absent, known, unknown

GPU = "nvidia.com/gpu"
"""Extended resource of whole GPUs, or of shares where the pool does not rename them."""

SHARED_SUFFIX = ".shared"
"""What the device plugin appends to a shared resource's name."""


def is_gpu_resource(name: str) -> bool:
    """Whether an extended resource stands for a GPU, a slice or a turn on one."""
    return name == GPU or name.startswith(("nvidia.com/gpu.", "nvidia.com/mig-"))


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity of a resource."""

    text: str
    """As it was written."""
    number: Decimal
    """In the base unit: cores, bytes, devices."""

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole number, as devices must be."""
        return self.number == self.number.to_integral_value()


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod template."""

    name: str
    place: str
    """Field path: `spec.template.spec.containers[0]`."""
    init: bool
    """Runs before the others."""
    restartable: bool
    """An init container that keeps running beside the others."""
    image: Fact[str]
    command: Fact[tuple[str, ...]]
    """Absent: the image's own."""
    arguments: Fact[tuple[str, ...]]
    requests: Mapping[str, Fact[Amount]]
    limits: Mapping[str, Fact[Amount]]
    resources_known: bool = True
    """False: which resources are named is not known, so a missing name proves nothing."""
    gpu_resources: tuple[str, ...] = field(init=False)
    """GPU-like resources named in limits or requests, each once."""

    def __post_init__(self) -> None:
        named = dict.fromkeys((*self.limits, *self.requests))
        found = tuple(name for name in named if is_gpu_resource(name))
        object.__setattr__(self, "gpu_resources", found)

    def gpus(self, resource: str) -> Fact[Amount]:
        """How many of a resource: the limit counts, and where there is none the request."""
        if resource in self.limits:
            return self.limits[resource]
        return self.requests.get(resource, absent(f"{self.place}.resources.limits"))

    @property
    def words(self) -> Fact[tuple[str, ...]]:
        """Command and arguments together; absent when the image's own entry point runs."""
        if self.command.is_unknown or self.arguments.is_unknown:
            return self.command if self.command.is_unknown else self.arguments
        if self.command.is_absent and self.arguments.is_absent:
            return self.command
        return known((self.command.found or ()) + (self.arguments.found or ()), place=self.place)


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Identical pods of a workload."""

    name: str
    """Empty when the workload has only one kind of pod."""
    place: str
    """Field path of the pod template's spec: `spec.template.spec`."""
    pods: Fact[int]
    """Pods that exist while the workload runs: replicas times group size, as set now."""
    containers: tuple[Container, ...]
    node_labels: Mapping[str, frozenset[str]]
    """Labels a node must have, from nodeSelector and required affinity -> allowed values. What is
    unknown, or said in another way (NotIn, alternatives), is left out: it could only rule out more
    nodes."""
    gpu_resources: tuple[str, ...] = field(init=False)
    """GPU-like resources any container names, each once."""

    def __post_init__(self) -> None:
        found = dict.fromkeys(name for c in self.containers for name in c.gpu_resources)
        object.__setattr__(self, "gpu_resources", tuple(found))

    def pod_gpus(self, resource: str) -> Fact[int]:
        """GPUs of one pod: the largest ordinary init container or the sum of all that run on.

        Unknown as soon as one container's share is; absent when no container asks for any.
        """
        largest = together = 0
        asked = False
        for container in self.containers:
            amount = container.gpus(resource)
            if amount.is_unknown or not container.resources_known:
                return unknown(container.place)
            if amount.is_absent or not amount.value.is_whole:
                continue
            asked = True
            count = int(amount.value.number)
            if container.init and not container.restartable:
                largest = max(largest, count)
            else:
                together += count
        return known(max(largest, together), place=self.place) if asked else absent(self.place)


@dataclass(frozen=True, slots=True)
class Workload:
    """One object that makes pods."""

    locator: Locator
    api_group: str
    """`apps`, `batch`, `ray.io`; empty for core."""
    pod_groups: tuple[PodGroup, ...]
    runs_to_completion: bool
    """A job: it costs while it runs, not all month."""
    template_checked_on_creation: bool
    """Whether the API server itself validates the pod template when this object is made."""
    suspended: Fact[bool]
    deadline_seconds: Fact[int]
    """Longest run; only meaningful for jobs."""
    intent: Intent
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of the object and of its pod templates whose values are known."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of the object whose values are known."""

    @property
    def uses_gpus(self) -> bool:
        """Whether any container names a GPU-like resource."""
        return any(group.gpu_resources for group in self.pod_groups)
