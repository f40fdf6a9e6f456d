"""State of a cluster at every moment of a test: nodes, pods, claims and ResourceSlices together.

Revisions of the API server count all objects of its etcd, so events of several watches, in the
order of their revisions, are the states that the cluster went through
(kubernetes/enhancements keps/sig-api-machinery/5504-comparable-resource-version).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kubernetes import client

from tests.engine.node_watch import Followed, nvidia_resources

DRIVER = "gpu.nvidia.com"
PLUGIN, DRIVER_LABEL = "nvidia.com/gpu.deploy.device-plugin", "gpufleet.dev/dra"
FINISHED = {"Succeeded", "Failed"}

Object = Mapping[str, Any]
Identity = tuple[str, str, str]
"""Kind, namespace, name."""


@dataclass(frozen=True)
class Event:
    version: int
    identity: Identity
    content: Object | None
    """None: it is gone."""


@dataclass
class ClusterState:
    """All objects at one moment."""

    objects: dict[Identity, Object] = field(default_factory=dict[Identity, Object])

    def of(self, kind: str) -> list[Object]:
        return [one for (each, _, _), one in self.objects.items() if each == kind]

    def published(self, node: str) -> set[str]:
        """Names of the devices in a node's slices of the newest generation."""
        pools = [
            one["spec"]
            for one in self.of("ResourceSlice")
            if one["spec"].get("nodeName") == node and one["spec"]["driver"] == DRIVER
        ]
        newest = max((one["pool"]["generation"] for one in pools), default=0)
        return {
            device["name"]
            for one in pools
            if one["pool"]["generation"] == newest
            for device in one.get("devices") or ()
        }

    def pods(self, node: str) -> list[Object]:
        """Pods that are bound to a node and have not ended."""
        return [
            pod
            for pod in self.of("Pod")
            if pod["spec"].get("nodeName") == node and pod["status"]["phase"] not in FINISHED
        ]

    def devices(self, pod: Object) -> set[str]:
        """Devices that the claims of a pod were given."""
        status, namespace = pod["status"], pod["metadata"]["namespace"]
        named = [one.get("resourceClaimName") for one in status.get("resourceClaimStatuses") or ()]
        named.append((status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"))
        claims = [self.objects.get(("ResourceClaim", namespace, name or "")) for name in named]
        return {
            result["device"] for claim in claims if claim is not None for result in _results(claim)
        }


def _results(claim: Object) -> list[Object]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def classic(pod: Object) -> int:
    """Devices of the device plugin that a pod holds."""
    if (pod["status"].get("extendedResourceClaimStatus") or {}).get("resourceClaimName"):
        return 0  # the same request, served by the DRA driver
    return sum(
        int(count)
        for container in pod["spec"]["containers"]
        for name, count in ((container.get("resources") or {}).get("limits") or {}).items()
        if name.startswith("nvidia.com/")
    )


def claiming(pod: Object) -> bool:
    return bool(pod["spec"].get("resourceClaims"))


def states(events: Sequence[Event]) -> Iterator[tuple[Event, ClusterState]]:
    """The state after each event, in order."""
    state = ClusterState()
    for event in sorted(events, key=lambda one: one.version):
        if event.content is None:
            state.objects.pop(event.identity, None)
        else:
            state.objects[event.identity] = event.content
        yield event, state


def violations(events: Sequence[Event], units: Mapping[str, int]) -> list[str]:
    """Moments at which a node assigned more than it has.

    Args:
        events: All events.
        units: Node -> number of its devices, whichever program advertises them.
    """
    found: dict[str, None] = {}
    for event, state in states(events):
        for node, most in units.items():
            if ("Node", "", node) in state.objects:
                for text in _of_node(state, node, most):
                    found.setdefault(f"{node}: {text} (first at {event.version}: {event.identity})")
    return list(found)


def _of_node(state: ClusterState, node: str, most: int) -> Iterator[str]:
    shown = state.objects["Node", "", node]
    labels = shown["metadata"].get("labels") or {}
    offered = sum(int(count) for count in nvidia_resources(shown).values())
    published, pods = state.published(node), state.pods(node)
    given = [device for pod in pods for device in state.devices(pod)]
    held = sum(classic(pod) for pod in pods)
    if offered and published:
        yield f"offers {offered} devices and publishes {len(published)}"
    if offered + len(published) > most:
        yield f"advertises {offered + len(published)} of {most} devices"
    if labels.get(DRIVER_LABEL) == "true" and labels.get(PLUGIN) != "false":
        yield "both advertisers are wanted"
    if len(set(given)) + held > most or len(given) > len(set(given)):
        yield f"{held} devices of the plugin and {sorted(given)} are in use, of {most}"
    if lost := set(given) - published:
        yield f"pods run with {sorted(lost)}, which nobody publishes"


def lost_pods(events: Sequence[Event]) -> list[str]:
    """Pods with claims that were bound and are gone, or were to go."""
    bound: set[Identity] = set()
    lost: dict[str, None] = {}
    for event in sorted(events, key=lambda one: one.version):
        pod = event.content
        if event.identity[0] != "Pod":
            continue
        if pod is not None and claiming(pod) and pod["spec"].get("nodeName"):
            bound.add(event.identity)
        ends = pod is None or pod["metadata"].get("deletionTimestamp") is not None
        if ends and event.identity in bound:
            lost.setdefault(event.identity[2])
    return list(lost)


@contextmanager
def recorded(api: Any) -> Iterator[list[Event]]:
    """Everything that happens while the block runs; complete after it."""
    core, resources = client.CoreV1Api(api), client.ResourceV1Api(api)
    events: list[Event] = []
    lists: dict[str, Callable[..., Any]] = {
        "Node": core.list_node,
        "Pod": core.list_pod_for_all_namespaces,
        "ResourceSlice": resources.list_resource_slice,
        "ResourceClaim": resources.list_resource_claim_for_all_namespaces,
    }

    def took(kind: str, event: Object) -> None:
        content = event["object"]
        metadata = content["metadata"]
        identity = (kind, metadata.get("namespace") or "", metadata["name"])
        gone = event["type"] == "DELETED"
        events.append(Event(int(metadata["resourceVersion"]), identity, None if gone else content))

    followed = [
        Followed(listed, lambda event, kind=kind: took(kind, event), {})
        for kind, listed in lists.items()
    ]
    for kind, one in zip(lists, followed, strict=True):
        for item in one.items:
            took(kind, {"type": "ADDED", "object": item})
        one.start()
    try:
        yield events
    finally:
        for one in followed:
            one.end()
