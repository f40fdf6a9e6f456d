"""Nodes as `kubectl describe nodes` prints them: what the must-gather of the GPU Operator has.

Source of the form: kubernetes/kubectl `pkg/describe/describe.go` describeNode.
"""

import re
from collections.abc import Iterator
from typing import Any

_KEY = re.compile(r"^([A-Z][\w -]*):\s*(.*)$")
_TAINT = re.compile(r"([^=:\s]+)(?:=([^:\s]*))?:(\w+)")


def nodes_described(content: str) -> Iterator[dict[str, Any]]:
    """Node objects with labels, annotations, taints, conditions, capacity and allocatable."""
    yield from map(_node, re.findall(r"(?ms)^Name:.*?(?=^Name:|\Z)", content))


def _sections(block: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    key = ""
    for line in block.splitlines():
        if (head := _KEY.match(line)) is not None:
            key, line = head[1], head[2]
        found.setdefault(key, []).append(line.strip())
    return found


def _pairs(lines: list[str], sign: str) -> dict[str, str]:
    return dict(re.split(rf"\s*{sign}\s*", line, maxsplit=1) for line in lines if sign in line)


def _node(block: str) -> dict[str, Any]:
    parts = _sections(block)
    system = _pairs(parts.get("System Info", []), ":")
    return {
        "kind": "Node",
        "metadata": {
            "name": "".join(parts.get("Name", [])),
            "labels": _pairs(parts.get("Labels", []), "="),
            "annotations": _pairs(parts.get("Annotations", []), ":"),
        },
        "spec": {
            "unschedulable": parts.get("Unschedulable", [""])[0] == "true",
            "taints": [
                {"key": found[1], "value": found[2] or "", "effect": found[3]}
                for line in parts.get("Taints", [])
                if (found := _TAINT.fullmatch(line)) is not None
            ],
        },
        "status": {
            "conditions": list(_conditions(parts.get("Conditions", []))),
            "capacity": _pairs(parts.get("Capacity", []), ":"),
            "allocatable": _pairs(parts.get("Allocatable", []), ":"),
            "nodeInfo": {
                "kubeletVersion": system.get("Kubelet Version", ""),
                "osImage": system.get("OS Image", ""),
            },
        },
    }


def _conditions(lines: list[str]) -> Iterator[dict[str, str]]:
    for line in lines:
        parts = re.split(r"\s{2,}", line)
        if len(parts) >= 2 and parts[1] in {"True", "False", "Unknown"}:
            kind, status, *rest = parts
            reason = rest[2] if len(rest) > 2 else ""
            yield {"type": kind, "status": status, "reason": reason, "message": " ".join(rest[3:])}
