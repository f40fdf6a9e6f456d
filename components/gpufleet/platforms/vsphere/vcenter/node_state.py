"""What a Kubernetes Node and its pods mean for the machine below: plain data, no API."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of pods that the node itself makes from files: they cannot be evicted."""

CORDONED_BY = "gpufleet.dev/cordoned-for"
"""Annotation with the instance uuid of the machine that was to be changed or removed: who else
cordons a node is not undone."""


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether the node's kubelet says that it takes pods."""
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in node.get("status", {}).get("conditions") or []
    )


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


def must_leave(pods: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Pods that a drain evicts: not those of DaemonSets, the node's own, or finished ones."""
    return [pod for pod in pods if _leaves(pod)]


def _leaves(pod: Mapping[str, Any]) -> bool:
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
    """Whether the pod has been told to end."""
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
        said = node["status"]["nodeInfo"]["systemUUID"]
        return f"the node of that name runs on another machine (systemUUID {said})"
    for condition in node.get("status", {}).get("conditions") or []:
        if condition.get("type") == "Ready":
            reason, text = condition.get("reason", ""), condition.get("message", "")
            return f"the node is not Ready: {reason} {text}".rstrip()
    return "the node has not said yet whether it is Ready"
