# pyright: standard
"""The Kubernetes node of a machine: waiting for it, draining it, deleting it; with the few requests
to its cluster as plain JSON.

Every step can run again after an interruption at any point: it reads the cluster's present state.
"""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from urllib3.exceptions import HTTPError
from yaml import YAMLError

from gpufleet_vcenter.errors import VsphereError, failed, said
from gpufleet_vcenter.settings import KubernetesAccess, NodeSettings
from gpufleet_vcenter.tasks import turns

CALL_TIMEOUT = (10, 30)
"""Seconds for a connection, and for one answer."""
_PAGE = 500
_MERGE = "application/merge-patch+json"


class ClusterApi:
    """Requests to one cluster as the user of the kubeconfig, which is not stored."""

    def __init__(self, access: KubernetesAccess) -> None:
        """Read the kubeconfig.

        Raises:
            VsphereError: the client library or the file is missing, or the file is not usable.
        """
        try:
            from kubernetes import client, config, dynamic
        except ModuleNotFoundError:
            raise failed("kubernetes/no-client") from None
        self._path, known = Path(access.kubeconfig).expanduser(), client.Configuration()
        known.retries = False  # each step is repeated as a whole
        file, context = str(self._path), access.context
        try:
            made = config.new_client_from_config(file, context, client_configuration=known)
        except (config.ConfigException, YAMLError, OSError, ValueError) as problem:
            raise self._failed("kubernetes/kubeconfig", problem) from None
        # Its requests take and give plain JSON. No kind is looked up: the paths are known.
        self._ask: Any = dynamic.DynamicClient(made, discoverer=lambda *_: None).request

    def node(self, name: str) -> Mapping[str, Any] | None:
        """The Node, or None."""
        return self.ask("GET", f"/api/v1/nodes/{quote(name)}", absent=(404,))

    def nodes(self) -> list[Mapping[str, Any]]:
        """Every Node."""
        return self.ask("GET", "/api/v1/nodes").get("items") or []

    def pods(self, node: str) -> list[Mapping[str, Any]]:
        """All pods on the node."""
        found: list[Mapping[str, Any]] = []
        of, more = f"spec.nodeName={node}", None
        while more is None or more:
            answer = self.ask("GET", "/api/v1/pods", field_selector=of, limit=_PAGE, _continue=more)
            found += answer.get("items") or []
            more = (answer.get("metadata") or {}).get("continue") or ""
        return found

    def patch_node(self, name: str, patch: Mapping[str, Any]) -> None:
        """Merge a patch into the Node; a missing Node is not an error."""
        path = f"/api/v1/nodes/{quote(name)}"
        self.ask("PATCH", path, absent=(404,), body=patch, content_type=_MERGE)

    def evict(self, pod: Mapping[str, Any]) -> bool:
        """Evict the pod. False: a disruption budget does not allow it now."""
        meta = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            # A new pod of the same name (of a StatefulSet) is not evicted.
            "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
        }
        path = f"/api/v1/namespaces/{quote(meta['namespace'])}/pods/{quote(meta['name'])}"
        if self.ask("POST", f"{path}/eviction", absent=(404, 409, 429), body=body) is not None:
            return True
        found = self.ask("GET", path, absent=(404,))
        return found is None or found["metadata"]["uid"] != meta["uid"]

    def delete_node(self, node: Mapping[str, Any]) -> None:
        """Delete exactly this Node object; a missing Node is not an error."""
        meta = node["metadata"]
        body = {"preconditions": {"uid": meta["uid"]}}
        self.ask("DELETE", f"/api/v1/nodes/{quote(meta['name'])}", absent=(404, 409), body=body)

    def ask(self, method: str, path: str, *, absent: tuple[int, ...] = (), **more: Any) -> Any:
        """One request; None for an answer with a status of `absent`.

        Args:
            more: Body, and parameters as `DynamicClient.request` has them.
        """
        from kubernetes.client.exceptions import ApiException

        try:
            return self._ask(
                method, path, serializer=lambda _, row: row, _request_timeout=CALL_TIMEOUT, **more
            )
        except ApiException as answer:
            if answer.status in absent:
                return None
            if not answer.status:  # no answer: the certificate is not trusted
                raise self._failed("kubernetes/unreachable", answer) from None
            try:
                text = str(json.loads(answer.body or "")["message"])
            except (ValueError, TypeError, LookupError):
                text = answer.reason
            raise self._failed(
                "kubernetes/answer", answer, path=path, method=method, said=text
            ) from None
        except (HTTPError, OSError) as problem:
            raise self._failed("kubernetes/unreachable", problem) from None

    def _failed(self, row: str, problem: Exception, **facts: Any) -> VsphereError:
        name = type(problem).__name__
        return failed(row, file=self._path, problem=name, answer=problem, **facts)


_NAMED = 5
"""Maximum number of pods in an error."""


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """The node of one machine."""

    cluster: ClusterApi
    settings: NodeSettings
    """Settings of the machine, with `kubernetes`."""
    bios_uuid: str
    """BIOS uuid of the machine: a node on another machine is never changed."""

    @property
    def access(self) -> KubernetesAccess:
        """Access to the cluster."""
        assert self.settings.kubernetes is not None
        return self.settings.kubernetes

    def await_ready(self) -> None:
        """Wait until the node is Ready.

        Raises:
            VsphereError: it was not in time (the text says what is missing), or the update was
                interrupted.
        """
        seconds, name = self.access.ready_seconds, self.settings.name
        for _ in turns(seconds, f"waiting for node {name}", f"{name} runs"):
            node = self.cluster.node(name)
            if node is not None and belongs(node, self.bios_uuid) and is_ready(node):
                return
        ignition = self.settings.user_data_format == "ignition"
        look = said("timeout/ignition" if ignition else "timeout/cloud-init")
        why = why_not_ready(self.cluster.node(name), self.bios_uuid)
        raise failed("timeout/node", name=name, seconds=seconds, why=why, look=look)

    def empty(self, machine: str) -> None:
        """Cordon the node and evict its pods as disruption budgets allow.

        Args:
            machine: Instance uuid, noted on the node: `reopen` undoes only this.

        Raises:
            VsphereError: pods were left when the time was over, and they are to be respected; or
                the update was interrupted.
        """
        seconds = self.access.drain_seconds
        left: list[Mapping[str, Any]] = []
        held: set[str] = set()
        stays = f"{self.settings.name} still runs, and its node may be cordoned"
        for _ in turns(seconds, f"emptying node {self.settings.name}", stays):
            node = self._own()
            if node is None:
                return
            # A cordon by others is not changed.
            if not node.get("spec", {}).get("unschedulable"):
                self._patch(machine, True)
            left = [pod for pod in self.cluster.pods(self.settings.name) if _must_leave(pod)]
            if not is_ready(node):
                # Nothing there confirms that a pod has ended: only the eviction is known.
                left = [pod for pod in left if not is_leaving(pod)]
            if not left:
                return
            held = {
                pod_name(pod) for pod in left if not is_leaving(pod) and not self.cluster.evict(pod)
            }
        if self.access.when_not_drained == "remove":
            return
        raise failed("drain", name=self.settings.name, seconds=seconds, pods=_listed(left, held))

    def lost_since(self, minutes: int) -> str:
        """Time since which the node is not Ready, if longer than `minutes`; empty: the node is not
        lost. While most of the cluster's nodes are not Ready, no node counts as lost."""
        node = self._own()
        ready = {} if node is None else _ready(node)
        if not ready or ready.get("status") == "True":
            return ""
        since, least = str(ready.get("lastTransitionTime") or ""), timedelta(minutes=minutes)
        if not since or datetime.now(UTC) - datetime.fromisoformat(since) < least:
            return ""
        nodes = self.cluster.nodes()
        down = sum(not is_ready(one) for one in nodes)
        return "" if down >= UNHEALTHY * len(nodes) else since

    def reopen(self, machine: str) -> None:
        """Uncordon the node if the change of this machine cordoned it."""
        node = self._own()
        marks = {} if node is None else node.get("metadata", {}).get("annotations") or {}
        if marks.get(CORDONED_BY) == machine:
            self._patch(None, None)

    def forget(self) -> None:
        """Delete the Node object of a removed machine."""
        node = self._own()
        if node is not None:
            self.cluster.delete_node(node)

    def _patch(self, machine: str | None, cordoned: bool | None) -> None:
        marks = {"annotations": {CORDONED_BY: machine}}
        patch = {"metadata": marks, "spec": {"unschedulable": cordoned}}
        self.cluster.patch_node(self.settings.name, patch)

    def _own(self) -> Mapping[str, Any] | None:
        node = self.cluster.node(self.settings.name)
        return node if node is not None and belongs(node, self.bios_uuid) else None


def _listed(left: list[Mapping[str, Any]], held: set[str]) -> str:
    rows: list[str] = []
    for pod in sorted(left, key=pod_name)[:_NAMED]:
        why = "is ending" if is_leaving(pod) else "was told to leave"
        why = "a disruption budget keeps it" if pod_name(pod) in held else why
        rows.append(f"{pod_name(pod)} ({why})")
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return ", ".join(rows) + more


def node_of(settings: NodeSettings, bios_uuid: str) -> ClusterNode | None:
    """The node of a machine; None if no cluster is declared, or it is not to be accessed now."""
    access = settings.kubernetes
    if access is None or skipped(settings):
        return None
    return ClusterNode(ClusterApi(access), settings, bios_uuid)


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
    """Whether the kubelet of the node reports Ready."""
    return _ready(node).get("status") == "True"


def _ready(node: Mapping[str, Any]) -> Mapping[str, Any]:
    rows: list[Mapping[str, Any]] = node.get("status", {}).get("conditions") or []
    return next((row for row in rows if row.get("type") == "Ready"), {})


def belongs(node: Mapping[str, Any], bios_uuid: str) -> bool:
    """Whether the node runs on the machine with this BIOS uuid, or reports no uuid.

    Firmware and kernels disagree on the byte order of the first three groups, so both count.
    """
    told = str(node.get("status", {}).get("nodeInfo", {}).get("systemUUID") or "").lower()
    if not told or not bios_uuid:
        return True
    return told in both_spellings(bios_uuid)


def both_spellings(bios_uuid: str) -> frozenset[str]:
    """The uuid as vCenter writes it, and with its first three groups in the other byte order."""
    try:
        known = uuid.UUID(bios_uuid)
    except ValueError:
        return frozenset((bios_uuid.lower(),))
    return frozenset((str(known), str(uuid.UUID(bytes_le=known.bytes))))


def _must_leave(pod: Mapping[str, Any]) -> bool:
    """Whether a drain evicts the pod: not pods of DaemonSets, mirror pods and finished pods."""
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
    """Reason why a node does not count as Ready."""
    if node is None:
        return "no node of that name has registered"
    if not belongs(node, bios_uuid):
        reported = node["status"]["nodeInfo"]["systemUUID"]
        return f"the node of that name runs on another machine (systemUUID {reported})"
    if ready := _ready(node):
        reason, text = ready.get("reason", ""), ready.get("message", "")
        return f"the node is not Ready: {reason} {text}".rstrip()
    return "the node has not reported yet whether it is Ready"
