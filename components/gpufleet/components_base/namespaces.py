"""The namespaces of operators: made by one stack only."""

from collections.abc import Mapping

import pulumi

from gpufleet.components_base.core_objects import Namespace

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
