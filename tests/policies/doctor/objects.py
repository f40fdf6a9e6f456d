"""Objects of Kubernetes as clusters of tests have them."""

import copy
from collections.abc import Mapping
from typing import Any

NOW = "2026-11-28T12:00:00Z"
LONG_AGO = "2026-11-25T08:00:00Z"


def an_object(
    version: str, kind: str, name: str, namespace: str = "", *, labels: Any = None, spec: Any = None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    found: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return found if spec is None else found | {"spec": spec}


def condition(kind: str, status: str, reason: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": LONG_AGO}


def ready() -> dict[str, Any]:
    return {**condition("Ready", "True", "KubeletReady"), "lastHeartbeatTime": NOW}


def within(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def running(container: str) -> dict[str, Any]:
    state = {"name": container, "restartCount": 0, "ready": True, "state": {"running": {}}}
    return {
        "phase": "Running",
        "conditions": [condition("Ready", "True", "")],
        "containerStatuses": [state],
    }


def device_class(name: str, kind: str) -> dict[str, Any]:
    is_kind = f"device.attributes['gpu.nvidia.com'].type == '{kind}'"
    expression = f"device.driver == 'gpu.nvidia.com' && {is_kind}"
    return an_object(
        "resource.k8s.io/v1",
        "DeviceClass",
        name,
        spec={"selectors": [{"cel": {"expression": expression}}]},
    )


def merge(target: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """A merge patch (RFC 7396)."""
    for key, value in changes.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)
