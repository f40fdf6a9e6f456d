"""A Helm release, without the cost of the SDK's module for it.

`pulumi_kubernetes.helm.v3` imports a client for chart repositories, `requests` with all it needs:
0.1 s at every start of a program. This class registers the very same resource; it names the inputs
this library sets. docs/decisions/2026-11-21-core-objects.md has the figures.
"""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes import _utilities as kubernetes_sdk


class HelmRelease(pulumi.CustomResource):
    """A release of a chart."""

    name: pulumi.Output[str]
    """Name of the release in its namespace."""

    def __init__(self, name: str, inputs: Mapping[str, Any], opts: pulumi.ResourceOptions) -> None:
        """Register it.

        Args:
            name: Name of the resource, unique in its stack.
            inputs: As the provider spells them: `chart`, `name`, `namespace`, `values`, ...
            opts: Options.
        """
        super().__init__(
            "kubernetes:helm.sh/v3:Release",
            name,
            # What the SDK's own class sends along; without it a preview would show a difference.
            {"compat": "true", **inputs},
            pulumi.ResourceOptions.merge(kubernetes_sdk.get_resource_opts_defaults(), opts),
        )
