"""Objects of a cluster and namespaces of operators, without the cost of the SDK's modules for them.

`pulumi_kubernetes.core.v1` takes 0.3 to 0.5 s to import, at every start of a program, because it
defines some thousand input and output types. These classes register the very same resources; they
name only the inputs this library sets. docs/decisions/2026-11-21-core-objects.md has the figures.

The SDK's own class for custom resources takes `spec` only, and some kinds keep what matters next to
it (a WorkloadPriorityClass its `value`, a ConfigMap its `data`). This one registers the same types
with the whole manifest.
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


class ManifestObject(pulumi.CustomResource):
    """One object; `apiVersion` and `kind` of the manifest choose the type."""

    metadata: pulumi.Output[Any]
    """Metadata as the API server stores it: `metadata["name"]`."""

    def __init__(
        self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__(
            # The group core has no name of its own: its types are `kubernetes:core/v1:...`.
            f"kubernetes:{_group(manifest['apiVersion'])}:{manifest['kind']}",
            name,
            dict(manifest),
            pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts),
        )


def _group(api_version: str) -> str:
    return api_version if "/" in api_version else f"core/{api_version}"


PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""NVIDIA's operands mount host paths and load kernel modules (documentation of both operators)."""
OWNER = "gpufleet.dev/owner"
"""Annotation: the component that made a namespace, `<project>/<stack>/<name>`."""


def operator_namespace(
    component: pulumi.ComponentResource,
    owner: str,
    name: str,
    called: str,
    labels: Mapping[str, str] | None = None,
) -> Namespace:
    """A namespace that admits privileged pods and belongs to one component of one stack.

    With server-side apply, creating an object that exists succeeds: a second stack would share the
    namespace, fail on the Helm release in it, and delete both when it is destroyed. The owner's
    name has another value there, so the API server answers with a conflict that names it, before
    anything is shared.

    Args:
        component: Parent of the namespace.
        owner: Name of the component that owns it.
        name: Name of the resource.
        called: Name of the namespace.
        labels: More labels. Default: none.
    """
    maker = f"{pulumi.get_project()}/{pulumi.get_stack()}/{owner}"
    return Namespace(
        name,
        metadata={
            "name": called,
            "labels": {**PRIVILEGED, **(labels or {})},
            "annotations": {OWNER: maker},
        },
        opts=pulumi.ResourceOptions(parent=component),
    )
