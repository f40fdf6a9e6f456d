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
    """An object of the API group core/v1.

    Each kind calls the SDK's constructor itself: the SDK takes the frame above a resource's own
    constructor for its place in the program, and reads every frame from there on.
    """

    metadata: pulumi.Output[Any]
    """Metadata as the API server stores it: `metadata["name"]`."""


def _options(opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts)


class Namespace(_CoreObject):
    """A namespace."""

    def __init__(
        self, name: str, metadata: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        props = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        super().__init__("kubernetes:core/v1:Namespace", name, props, _options(opts))


class ConfigMap(_CoreObject):
    """A ConfigMap that never changes: its name carries a digest of its content."""

    def __init__(
        self,
        name: str,
        metadata: Mapping[str, Any],
        data: Mapping[str, str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        props = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": dict(data),
            "immutable": True,
        }
        super().__init__("kubernetes:core/v1:ConfigMap", name, props, _options(opts))


class NodePatch(_CoreObject):
    """Labels on a node that exists; deleting it takes away what it applied, and no more."""

    def __init__(
        self, name: str, metadata: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        props = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        super().__init__("kubernetes:core/v1:NodePatch", name, props, _options(opts))


class Node(_CoreObject):
    """A node of the sandbox."""

    def __init__(
        self,
        name: str,
        metadata: Mapping[str, Any],
        spec: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
    ) -> None:
        props = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
        super().__init__("kubernetes:core/v1:Node", name, props, _options(opts))
