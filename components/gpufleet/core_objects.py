"""Namespace, ConfigMap and Node, without the cost of the SDK's module for them.

`pulumi_kubernetes.core.v1` takes 0.3 to 0.5 s to import, at every start of a program, because it
defines some thousand input and output types. These classes register the very same resources; they
name only the inputs this library sets. docs/decisions/2026-11-21-core-objects.md has the figures.
"""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes import _utilities as kubernetes_sdk


class _CoreObject(pulumi.CustomResource):
    """An object of the API group core/v1."""

    metadata: pulumi.Output[Any]
    """Metadata as the API server stores it: `metadata["name"]`."""

    def __init__(
        self, kind: str, name: str, props: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__(
            f"kubernetes:core/v1:{kind}",
            name,
            {"apiVersion": "v1", "kind": kind, **props},
            pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts),
        )


class Namespace(_CoreObject):
    """A namespace."""

    def __init__(
        self, name: str, metadata: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__("Namespace", name, {"metadata": metadata}, opts)


class ConfigMap(_CoreObject):
    """A ConfigMap that never changes: its name carries a digest of its content."""

    def __init__(
        self,
        name: str,
        metadata: Mapping[str, Any],
        data: Mapping[str, str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        props = {"metadata": metadata, "data": dict(data), "immutable": True}
        super().__init__("ConfigMap", name, props, opts)


class Node(_CoreObject):
    """A node of the sandbox."""

    def __init__(
        self,
        name: str,
        metadata: Mapping[str, Any],
        spec: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("Node", name, {"metadata": metadata, "spec": spec}, opts)
