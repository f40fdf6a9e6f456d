"""Any object of a cluster, registered as it is in its manifest.

The SDK's own class for custom resources takes `spec` only, and some kinds keep what matters next to
it (a WorkloadPriorityClass its `value`, a ConfigMap its `data`). This one registers the same types
with the whole manifest.
"""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_kubernetes import _utilities as kubernetes_sdk


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
