"""PodGroup: identical pods of a workload, and the fields that decide where they may run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gpufleet.cluster.container import Amount, Container
from gpufleet.cluster.fact import NOTHING, Fact, absent, known, unknown


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One entry of a pod's `resourceClaims`."""

    name: str
    place: str
    claim: Fact[str] = NOTHING
    """`resourceClaimName`: one claim that all pods share."""
    template: Fact[str] = NOTHING
    """`resourceClaimTemplateName`: a separate claim for each pod."""


@dataclass(frozen=True, slots=True)
class PodToleration:
    """One toleration."""

    key: str
    """Empty: every key."""
    operator: str
    effect: str
    """Empty: every effect."""
    value: str = ""
    """`?`: not known."""

    @property
    def tolerates_everything(self) -> bool:
        """Tolerates every NoSchedule taint: no key, `Exists`, no effect or NoSchedule."""
        return not self.key and self.operator == "Exists" and self.effect in ("", "NoSchedule")

    def as_dict(self) -> dict[str, str]:
        """The form of manifests and Helm values, for any value."""
        return {"key": self.key, "operator": "Exists", "effect": self.effect}

    def covers(self, key: str, effect: str, value: str | None = None) -> bool:
        """Whether it tolerates a taint; None: of any value (`api/core/v1/toleration.go`)."""
        exists = self.operator == "Exists"
        same = self.key == key if self.key else exists
        return (
            same
            and self.effect in ("", effect)
            and (exists or value in (None, self.value) or self.value == "?")
        )


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
    """Labels a node must have, from nodeSelector and required affinity -> allowed values. Unknown
    terms and other operators (NotIn, alternatives) are left out: they could only exclude more
    nodes."""
    together: Fact[int] = field(default_factory=lambda: known(1))
    """Pods that form one replica: one program may be spread over them."""
    selector: frozenset[str] = frozenset()
    """The labels that `nodeSelector` requires."""
    containers_known: bool = True
    """False: it may have more containers."""
    node_labels_known: bool = True
    """False: it may have more required labels."""
    tolerations: Fact[tuple[PodToleration, ...]] = NOTHING
    priority_class: Fact[str] = NOTHING
    scheduler: Fact[str] = NOTHING
    runtime_class: Fact[str] = NOTHING
    deadline_seconds: Fact[int] = NOTHING
    """Time after which each pod ends."""
    gated: bool = False
    """Whether `schedulingGates` hold the pods until a controller releases all of them."""
    promised_gpus: int = 0
    """GPUs of a pod that the object reports to its program, independent of the requests: Ray."""
    host_ipc: bool = False
    """Whether its processes share memory with the host's, or may."""
    claims: tuple[PodClaim, ...] = ()
    node_name: Fact[str] = NOTHING
    """`nodeName`: the pods bypass the scheduler."""
    subdomain: Fact[str] = NOTHING
    """Second label of the host names of its pods; absent: they have none."""
    restarts: Fact[str] = NOTHING
    """`restartPolicy`; absent: the default of its kind."""
    service_links: bool = True
    """Whether Kubernetes writes variables of each Service into the containers, or may."""
    zone_bound: bool = False
    """Whether something keeps its pods in one zone, or may."""
    volumes: tuple[str, ...] = ()
    """PersistentVolumeClaims that each of its pods mounts."""
    pod_requests: Mapping[str, Fact[Amount]] = field(default_factory=dict[str, "Fact[Amount]"])
    """CPU and memory requests of the pod as a whole."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of its pod template with known values."""
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Annotations of its pod template, as plain data."""
    gpu_resources: tuple[str, ...] = field(init=False)
    """GPU resources that any container names, each once."""
    _counted: dict[str, Fact[int]] = field(init=False, repr=False, compare=False)
    """Cache of `pod_gpus`, which most rules call."""

    def __post_init__(self) -> None:
        found = dict.fromkeys(name for c in self.containers for name in c.gpu_resources)
        object.__setattr__(self, "gpu_resources", tuple(found))
        object.__setattr__(self, "_counted", {})

    @property
    def where(self) -> str:
        """Its name with its field path, for messages."""
        return f"group {self.name} ({self.place})" if self.name else self.place

    def pod_gpus(self, resource: str) -> Fact[int]:
        """GPUs of one pod: the largest ordinary init container or the sum of all that keep running.

        Unknown if one container's number is unknown; absent if no container requests any.
        """
        found = self._counted.get(resource)
        if found is None:
            found = self._counted[resource] = self._pod_gpus(resource)
        return found

    def _pod_gpus(self, resource: str) -> Fact[int]:
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

    def pod_request(self, resource: str) -> Fact[Decimal]:
        """CPU (cores) or memory (bytes) that the scheduler reserves for one pod.

        Unknown if one container's request is unknown; absent if no container has one.
        """
        whole = self.pod_requests.get(resource)
        if whole is not None:
            return known(whole.value.number) if whole.is_known else unknown(whole.place)
        largest = together = Decimal(0)
        asked = False
        for container in self.containers:
            amount = container.asked(resource)
            if amount.is_unknown or not container.resources_known:
                return unknown(container.place)
            if amount.is_absent:
                continue
            asked = True
            if container.init and not container.restartable:
                largest = max(largest, amount.value.number)
            else:
                together += amount.value.number
        return known(max(largest, together), place=self.place) if asked else absent(self.place)
