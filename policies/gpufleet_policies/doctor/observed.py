"""Objects of a dump for the doctor: nodes, pods, and the resources that they offer and request.

A field that is absent, or has another shape, is empty: nothing follows from it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.change.live_node import live_node
from gpufleet.documents.paths import mapping_at, value_at
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.names import names
from gpufleet_policies.readers.reserved import amounts, reserved
from gpufleet_policies.readers.scheduling import REQUIRED, has_nvidia, toleration_list, uncovered

DOMAINS = ("nvidia.com/", "amd.com/", "gpu.intel.com/", "habana.ai/", "aws.amazon.com/neuron")
"""Domains of extended resources of GPUs or parts of them, in addition to `google.com/tpu`."""
ENDED = frozenset({"Succeeded", "Failed"})
PRODUCT = "nvidia.com/gpu.product"


def is_device(name: str) -> bool:
    """Whether an extended resource is a GPU, a part of one, or another accelerator."""
    return name.startswith(DOMAINS) or name == "google.com/tpu"


def text(value: object) -> str:
    """The text; empty where the value is not one."""
    return value if isinstance(value, str) else ""


def entries(value: object, path: str) -> list[dict[str, Any]]:
    """The mappings of the list under a dotted path; empty where there is none."""
    return [mapping(one) for one in items(value_at(value, path))]


def few(names: Sequence[str], most: int = 3) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def repelling(taints: Iterable[Mapping[str, Any]], given: object) -> Iterator[dict[str, str]]:
    """Taints that keep pods with these tolerations away, with `shown`: all of it in one word.
    Tolerations that cannot be read may cover any."""
    own = toleration_list(given or [])
    for found in uncovered(taints, own) if own is not None else ():
        key, value, effect = found.values()
        yield found | {"shown": f"{key}={value}:{effect}"}


class Named(dict[str, str]):
    """Texts by name; a name without a text is shown as missing."""

    def __missing__(self, key: str) -> str:
        """Replacement of a missing name."""
        return "not there"


class Seen:
    """One object of the dump.

    Attributes:
        raw: The object as `kubectl get -o json` prints it.
        ref: `Pod/ml/train`: its name in findings.
        conditions: Conditions of the status by type.
        said: Status and reason of each condition: `False (KubeletNotReady)`.
        owner: Kind and name of its controller; empty texts without one.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        """Read what every kind has; a namespace is empty where the kind has none."""
        self.raw, self.kind = raw, text(raw.get("kind"))
        self.spec, self.status = mapping_at(raw, "spec"), mapping_at(raw, "status")
        self.metadata = mapping_at(raw, "metadata")
        self.name, self.namespace = (text(self.metadata.get(k)) for k in ("name", "namespace"))
        self.ref = "/".join(part for part in (self.kind, self.namespace, self.name) if part)
        self.labels, self.annotations = (
            Named({name: str(value) for name, value in mapping_at(self.metadata, key).items()})
            for key in ("labels", "annotations")
        )
        self.conditions = {text(one.get("type")): one for one in entries(self.status, "conditions")}
        self.said = Named(
            (kind, f"{text(one.get('status'))} ({text(one.get('reason')) or 'no reason'})")
            for kind, one in self.conditions.items()
        )
        owners = entries(self.metadata, "ownerReferences")
        owner = next((one for one in owners if one.get("controller") is True), dict[str, Any]())
        self.owner = (text(owner.get("kind")), text(owner.get("name")))

    def holds(self, kind: str) -> bool:
        """Whether a condition is True."""
        return self.conditions.get(kind, {}).get("status") == "True"


class SeenNode(Seen):
    """A node.

    Attributes:
        live: Facts for plans of changes.
        allocatable: Resources that pods may request.
        capacity: The same including unhealthy devices and the system's reservation.
        devices: Accelerators that pods may request, zeros included.
        has_gpus: GPUs, slices or shares of the healthy node: registered, else counted.
        has_nvidia: Whether labels or resources show NVIDIA GPUs in it.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        """Read a Node."""
        super().__init__(raw)
        self.live, self.taints = live_node(raw), entries(self.spec, "taints")
        self.allocatable = amounts(self.status.get("allocatable"))
        self.capacity = amounts(self.status.get("capacity"))
        self.devices = {n: int(v) for n, v in self.allocatable.items() if is_device(n)}
        registered = sum(int(v) for n, v in self.capacity.items() if is_device(n))
        counted = self.labels.get("nvidia.com/gpu.count", "")
        self.has_gpus = registered or (int(counted) if counted.isdecimal() else 0)
        self.has_nvidia = has_nvidia(self.labels, (*self.capacity, *self.allocatable))

    def version(self, label: str) -> str:
        """A version from labels, whole (`.full`) or in parts; empty without one."""
        parts = (self.labels.get(f"{label}.{one}", "") for one in ("major", "minor", "revision"))
        return self.labels.get(f"{label}.full", "") or ".".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a container of a pod does not run."""

    container: str
    reason: str
    """`CrashLoopBackOff`."""
    message: str
    restarts: int
    place: str
    """Field path of the evidence."""


NO_IMAGE = frozenset({"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull"})
_FAILED = frozenset({"StartError", "ContainerCannotRun"})
_FAILS = NO_IMAGE | _FAILED | set(names("reason of a container that fails"))


class SeenPod(Seen):
    """A pod.

    Attributes:
        node: The node it is bound to; empty while it waits.
        ended: Whether its containers have ended for good.
        waits: Whether the scheduler has not bound it.
        gates: Names of its scheduling gates.
        containers: Its containers, init containers first.
        images: Their images.
        requests: Resources that the scheduler reserves for it.
        devices: Accelerators that it requests.
        claims: Its entries of `resourceClaims`.
        asks: Both in words.
        gpus: Sum of requested accelerators; each claim counts as one.
        wants_gpus: Whether it requests accelerators, by resources or claims.
        apart_from: Terms of its required anti-affinity.
        scheduler: The scheduler that must bind it.
        trouble: The first container that does not start; None: all do.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        """Read a Pod."""
        super().__init__(raw)
        self.node, self.phase = text(self.spec.get("nodeName")), text(self.status.get("phase"))
        self.ended = self.phase in ENDED
        self.waits = not self.node and not self.ended and "deletionTimestamp" not in self.metadata
        self.gates = tuple(text(one.get("name")) for one in entries(self.spec, "schedulingGates"))
        lists = ("initContainers", "containers")
        self.containers = [one for key in lists for one in entries(self.spec, key)]
        self.images = tuple(text(one.get("image")) for one in self.containers)
        self.requests = reserved(self.spec)
        self.devices = {n: int(v) for n, v in self.requests.items() if is_device(n) and v}
        self.claims = entries(self.spec, "resourceClaims")
        self.asks = ", ".join(f"{n}: {v}" for n, v in self.devices.items()) or "claims"
        self.gpus = sum(self.devices.values()) or len(self.claims)
        self.wants_gpus = bool(self.devices or self.claims)
        self.apart_from = entries(self.spec, f"affinity.podAntiAffinity.{REQUIRED}")
        self.scheduler = text(self.spec.get("schedulerName")) or "default-scheduler"
        self.trouble = next(self._troubles(), None)

    def _troubles(self) -> Iterator[Trouble]:
        for key in ("initContainerStatuses", "containerStatuses"):
            for index, one in enumerate(entries(self.status, key)):
                last, count = mapping_at(one, "lastState.terminated"), one.get("restartCount")
                for state, fails in (("waiting", _FAILS), ("terminated", _FAILED)):
                    found = mapping_at(one, f"state.{state}")
                    reason = text(found.get("reason"))
                    if reason in fails:
                        said = f"{text(found.get('message'))} {text(last.get('message'))}"
                        restarts = count if isinstance(count, int) else 0
                        place = f"status.{key}[{index}].state.{state}.reason"
                        yield Trouble(text(one.get("name")), reason, said, restarts, place)
