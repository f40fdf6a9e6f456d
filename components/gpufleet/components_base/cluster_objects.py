"""Objects of a cluster and namespaces of operators, without the cost of the SDK's modules for them.

`pulumi_kubernetes.core.v1` takes 0.3 s to import, at every start of a program, because it defines
some thousand input and output types. These classes register the same resources and name only the
inputs this library sets (docs/decisions/2026-11-22-provider-resources.md).

The SDK's own class for custom resources accepts only `spec`, and some kinds have other fields (a
WorkloadPriorityClass its `value`, a ConfigMap its `data`). This one registers the same types with
the whole manifest.
"""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes import _utilities as kubernetes_sdk


class NodePatch(pulumi.CustomResource):
    """Labels on an existing node; deleting it removes only what it applied."""

    metadata: pulumi.Output[Any]
    """Metadata as the API server stores it: `metadata["name"]`."""

    def __init__(
        self, name: str, metadata: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        props = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        merged = pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts)
        super().__init__("kubernetes:core/v1:NodePatch", name, props, merged)


class ManifestObject(pulumi.CustomResource):
    """One object; `apiVersion` and `kind` of the manifest select the type."""

    metadata: pulumi.Output[Any]
    """Metadata as the API server stores it: `metadata["name"]`."""

    def __init__(
        self, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__(
            # The core group has no name: its types are `kubernetes:core/v1:...`.
            f"kubernetes:{_group(manifest['apiVersion'])}:{manifest['kind']}",
            name,
            dict(manifest),
            pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts),
        )


def _group(api_version: str) -> str:
    return api_version if "/" in api_version else f"core/{api_version}"


def awaited(
    parent: pulumi.Resource, longest: str, *after: pulumi.Resource
) -> pulumi.ResourceOptions:
    """Options of an object below a component that is ready within a time, `30m`, and is created
    after others."""
    limits = pulumi.CustomTimeouts(create=longest, update=longest)
    return pulumi.ResourceOptions(parent=parent, depends_on=list(after), custom_timeouts=limits)


PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""NVIDIA's operands mount host paths and load kernel modules (documentation of both operators)."""
OWNER = "gpufleet.dev/owner"
"""Annotation with the component that created a namespace, `<project>/<stack>/<name>`."""


def operator_namespace(
    component: pulumi.ComponentResource,
    owner: str,
    name: str,
    called: str,
    labels: Mapping[str, str] | None = None,
) -> ManifestObject:
    """A namespace that allows privileged pods and belongs to one component of one stack.

    With server-side apply, creating an existing object succeeds: a second stack would share the
    namespace, fail on the Helm release in it, and delete both when it is destroyed. The owner's
    name has another value there, so the API server returns a conflict that names it, before
    anything is shared.

    Args:
        component: Parent of the namespace.
        owner: Name of the component that owns it.
        name: Name of the resource.
        called: Name of the namespace object.
        labels: More labels. Default: none.
    """
    maker = f"{pulumi.get_project()}/{pulumi.get_stack()}/{owner}"
    labels = {**PRIVILEGED, **(labels or {})}
    metadata = {"name": called, "labels": labels, "annotations": {OWNER: maker}}
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return ManifestObject(name, document, pulumi.ResourceOptions(parent=component))
