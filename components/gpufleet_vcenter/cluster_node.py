# pyright: standard
"""The Kubernetes node on a machine: waiting for it, emptying it, and forgetting it.

Every step can run again after an interruption at any point: it reads the cluster's present state.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.cluster_api import ClusterApi
from gpufleet_vcenter.errors import failed, interrupted
from gpufleet_vcenter.settings import NodeSettings
from gpufleet_vcenter.tasks import turns

_NAMED = 5
"""Pods that an error names."""


_WITH_CLOUD_INIT = "look at /var/log/cloud-init-output.log"
_WITH_IGNITION = (
    "on OpenShift approve the node's certificate signing requests (`oc get csr`, `oc adm "
    "certificate approve`), its client's first and then its server's; look at `journalctl -u "
    "ignition-firstboot-complete`"
)
"""What may keep a guest from joining, by the format of its first-boot data."""


class ClusterNode:
    """The node of one machine."""

    def __init__(
        self,
        cluster: ClusterApi,
        settings: NodeSettings,
        bios_uuid: str,
        sleep: Callable[[float], object] = CANCELLED.wait,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the node; nothing is asked yet.

        Args:
            cluster: Where it is.
            settings: Of the machine, with `kubernetes`.
            bios_uuid: Of the machine: a node that runs elsewhere is never touched.
            sleep: How pauses are made. Default: real ones, which an interrupt ends.
            clock: What time it is. Default: the real one.
        """
        assert settings.kubernetes is not None
        self._cluster, self._access, self._name = cluster, settings.kubernetes, settings.name
        self._bios_uuid = bios_uuid
        self._ignition = settings.user_data_format == "ignition"
        self._sleep, self._clock = sleep, clock

    def await_ready(self) -> None:
        """Until the node is Ready.

        Raises:
            VsphereError: it was not in time, and the text says what is lacking; or the update was
                interrupted.
        """
        seconds = self._access.ready_seconds
        for _ in self._until(seconds, f"waiting for node {self._name}", f"{self._name} runs"):
            node = self._cluster.node(self._name)
            if node is not None and belongs(node, self._bios_uuid) and is_ready(node):
                return
        why = why_not_ready(self._cluster.node(self._name), self._bios_uuid)
        raise failed(
            "timeout/node",
            name=self._name,
            seconds=seconds,
            why=why,
            look=_WITH_IGNITION if self._ignition else _WITH_CLOUD_INIT,
        )

    def empty(self, machine: str) -> None:
        """Cordon the node and evict its pods, as disruption budgets allow.

        Args:
            machine: Instance uuid, noted on the node: `reopen` undoes only this.

        Raises:
            VsphereError: pods were left when the time was over, and they are to be respected; or
                the update was interrupted.
        """
        seconds = self._access.drain_seconds
        left: list[Mapping[str, Any]] = []
        held: set[str] = set()
        stays = f"{self._name} still runs, and its node may be cordoned"
        for _ in self._until(seconds, f"emptying node {self._name}", stays):
            node = self._own()
            if node is None:
                return
            # Someone else's cordon stays someone else's.
            if not node.get("spec", {}).get("unschedulable"):
                self._patch(machine, True)
            left = [pod for pod in self._cluster.pods(self._name) if _must_leave(pod)]
            if not is_ready(node):
                # No one there confirms that a pod has ended; that it was told so is all there is.
                left = [pod for pod in left if not is_leaving(pod)]
            if not left:
                return
            held = {
                pod_name(pod)
                for pod in left
                if not is_leaving(pod) and not self._cluster.evict(pod)
            }
        if self._access.when_not_drained == "remove":
            return
        raise failed("drain", name=self._name, seconds=seconds, pods=_listed(left, held))

    def lost_since(self, minutes: int) -> str:
        """Since when the node has not been Ready, where that is longer than so many minutes; empty:
        it is not lost. While most of the cluster's nodes are not Ready, none counts as lost."""
        node = self._own()
        ready = [] if node is None else _conditions(node, "Ready")
        if not ready or ready[0].get("status") == "True":
            return ""
        since, least = str(ready[0].get("lastTransitionTime") or ""), timedelta(minutes=minutes)
        if not since or datetime.now(UTC) - datetime.fromisoformat(since) < least:
            return ""
        nodes = self._cluster.nodes()
        down = sum(not is_ready(one) for one in nodes)
        return "" if down >= UNHEALTHY * len(nodes) else since

    def reopen(self, machine: str) -> None:
        """Let pods come again, if it was this machine's change that kept them away."""
        node = self._own()
        marks = {} if node is None else node.get("metadata", {}).get("annotations") or {}
        if marks.get(CORDONED_BY) == machine:
            self._patch(None, None)

    def forget(self) -> None:
        """Delete the Node object of a machine that is gone."""
        node = self._own()
        if node is not None:
            self._cluster.delete_node(node)

    def _patch(self, machine: str | None, cordoned: bool | None) -> None:
        marks = {"annotations": {CORDONED_BY: machine}}
        patch = {"metadata": marks, "spec": {"unschedulable": cordoned}}
        self._cluster.patch_node(self._name, patch)

    def _own(self) -> Mapping[str, Any] | None:
        node = self._cluster.node(self._name)
        return node if node is not None and belongs(node, self._bios_uuid) else None

    def _until(self, seconds: int, doing: str, left: str) -> Iterator[float]:
        """Turns of a wait, none once the update was interrupted.

        Raises:
            VsphereError: the update was interrupted.
        """
        if CANCELLED.is_set():
            raise interrupted(doing, left)
        return turns(seconds, doing, left, sleep=self._sleep, clock=self._clock)


def _listed(left: list[Mapping[str, Any]], held: set[str]) -> str:
    rows: list[str] = []
    for pod in sorted(left, key=pod_name)[:_NAMED]:
        why = "is ending" if is_leaving(pod) else "was told to leave"
        why = "a disruption budget keeps it" if pod_name(pod) in held else why
        rows.append(f"{pod_name(pod)} ({why})")
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return ", ".join(rows) + more


@contextmanager
def node_of(settings: NodeSettings, bios_uuid: str) -> Iterator[ClusterNode | None]:
    """The node of a machine; None when no cluster is given, or it is not to be asked now."""
    access = settings.kubernetes
    if access is None or skipped(settings):
        yield None
        return
    api = ClusterApi(access)
    try:
        yield ClusterNode(api, settings, bios_uuid)
    finally:
        api.close()


def skipped(settings: NodeSettings) -> bool:
    """Whether the user has set `..._SKIP_DRAIN`, because the cluster no longer exists."""
    key = settings.endpoint.credentials_key.upper()
    return os.environ.get(f"{key}_SKIP_DRAIN", "") not in ("", "0")


UNHEALTHY = 0.55
"""Share of nodes that are not Ready from which on the cluster itself counts as disturbed: the
default of `--unhealthy-zone-threshold` of kube-controller-manager."""

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of pods that the node itself makes from files: they cannot be evicted."""

CORDONED_BY = "gpufleet.dev/cordoned-for"
"""Annotation with the instance uuid of the machine that was to be changed or removed: who else
cordons a node is not undone."""


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether the node's kubelet says that it takes pods."""
    return any(condition.get("status") == "True" for condition in _conditions(node, "Ready"))


def _conditions(node: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = node.get("status", {}).get("conditions") or []
    return [row for row in rows if row.get("type") == kind]


def belongs(node: Mapping[str, Any], bios_uuid: str) -> bool:
    """Whether the node runs on the machine with this BIOS uuid, or does not say.

    Firmware and kernels disagree on the byte order of the first three groups, so both count.
    """
    said = str(node.get("status", {}).get("nodeInfo", {}).get("systemUUID") or "").lower()
    if not said or not bios_uuid:
        return True
    return said in both_spellings(bios_uuid)


def both_spellings(bios_uuid: str) -> frozenset[str]:
    """The uuid as vCenter writes it, and with the first three groups in the other byte order."""
    try:
        known = uuid.UUID(bios_uuid)
    except ValueError:
        return frozenset((bios_uuid.lower(),))
    return frozenset((str(known), str(uuid.UUID(bytes_le=known.bytes))))


def _must_leave(pod: Mapping[str, Any]) -> bool:
    """Whether a drain evicts the pod: not those of DaemonSets, the node's own, or finished ones."""
    meta = pod.get("metadata", {})
    if MIRROR in (meta.get("annotations") or {}):
        return False
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return False
    return not any(
        owner.get("kind") == "DaemonSet" and owner.get("controller")
        for owner in meta.get("ownerReferences") or []
    )


def is_leaving(pod: Mapping[str, Any]) -> bool:
    """Whether the pod is being deleted."""
    return pod.get("metadata", {}).get("deletionTimestamp") is not None


def pod_name(pod: Mapping[str, Any]) -> str:
    """`namespace/name`."""
    meta = pod.get("metadata", {})
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


def why_not_ready(node: Mapping[str, Any] | None, bios_uuid: str) -> str:
    """What keeps a node from counting as Ready, in words."""
    if node is None:
        return "no node of that name has registered"
    if not belongs(node, bios_uuid):
        reported = node["status"]["nodeInfo"]["systemUUID"]
        return f"the node of that name runs on another machine (systemUUID {reported})"
    for condition in _conditions(node, "Ready"):
        reason, text = condition.get("reason", ""), condition.get("message", "")
        return f"the node is not Ready: {reason} {text}".rstrip()
    return "the node has not reported yet whether it is Ready"
