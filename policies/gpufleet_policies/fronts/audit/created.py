"""Creations as manifests."""

from typing import Any

from gpufleet.findings.remediation import Creation


def manifest(creation: Creation) -> dict[str, Any]:
    """The object as it is applied."""
    return {
        "apiVersion": "v1",
        "kind": creation.kind,
        "metadata": {"name": creation.name, "namespace": creation.namespace},
        "spec": {"hard": dict(creation.content)},
    }
