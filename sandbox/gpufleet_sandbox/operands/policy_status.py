"""Status of the ClusterPolicy that the operator reports."""

from collections.abc import Mapping
from typing import Any


def policy_status(
    policy: Mapping[str, Any], namespace: str, unhealthy: list[str], now: str
) -> dict[str, Any] | None:
    """The status to write, or None when it is already written. `unhealthy` names nodes."""
    ready = not unhealthy
    shown = ", ".join(unhealthy[:5])
    message = "" if ready else f"operands do not run on {shown}"
    wanted = [
        ("Ready", "True" if ready else "False", "Reconciled" if ready else "OperandNotReady"),
        ("Error", "False" if ready else "True", "Ready" if ready else "OperandNotReady"),
    ]
    status = policy.get("status") or {}
    present = [
        (c.get("type"), c.get("status"), c.get("reason"), c.get("message", ""))
        for c in status.get("conditions", [])
    ]
    if status.get("state") == ("ready" if ready else "notReady") and present == [
        (*condition, message) for condition in wanted
    ]:
        return None
    return {
        "state": "ready" if ready else "notReady",
        "namespace": namespace,
        "conditions": [
            {
                "type": kind,
                "status": value,
                "reason": reason,
                "message": message,
                "lastTransitionTime": now,
            }
            for kind, value, reason in wanted
        ],
    }
