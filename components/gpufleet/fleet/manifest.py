"""Common metadata of Kubernetes objects that gpufleet creates."""

from collections.abc import Mapping
from typing import Any

MANAGED_BY = {"app.kubernetes.io/managed-by": "gpufleet"}

Manifest = dict[str, Any]


def manifest(
    api_version: str,
    kind: str,
    name: str,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    **parts: Any,
) -> Manifest:
    """An object with `MANAGED_BY` before `labels`; `parts` are its `spec` and other fields. Without
    a namespace it is cluster-scoped."""
    place = {} if namespace is None else {"namespace": namespace}
    metadata = {"name": name, **place, "labels": {**MANAGED_BY, **(labels or {})}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}
