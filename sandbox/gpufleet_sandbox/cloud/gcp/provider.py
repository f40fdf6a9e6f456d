"""The Google provider's project, location and resource kinds."""

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.cloud import CloudAccount, CloudError, NoAnswerError, ResourceKind
from gpufleet_sandbox.cloud.gcp.project import GcpPlainKind
from gpufleet_sandbox.cloud.sdk import ResourceType
from gpufleet_sandbox.cloud.store import CloudFolder

_NODE_POOL = "gcp:container/nodePool:NodePool"
_SHORT_IDS = (3, 4)
"""Parts of the shorter forms of a node pool's id."""


class GcpCloud(CloudAccount):
    """One Google project."""

    name = "gcp"

    def __init__(self, folder: CloudFolder, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, settings or {})

    def configured(self, settings: Mapping[str, Any]) -> None:
        """Read the settings; a project is required, and the environment is not read."""
        if not settings.get("project"):
            raise CloudError("missing project: give gcp.Provider a project")
        super().configured(settings)

    def kind(self, resource: ResourceType) -> ResourceKind:
        """The kind of the type; what is not known here is checked and kept."""
        # Imported late: a preview makes nothing.
        from gpufleet_sandbox.cloud.gcp.table import kinds

        return kinds().get(resource.token, GcpPlainKind)(self, resource)

    def identified(self, token: str, identifier: str) -> str:
        """Node pools may be imported as `project/location/cluster/pool`, or without the project
        (pulumi-gcp 10.2.0, `gcp:container/nodePool:NodePool`, Import)."""
        parts = identifier.split("/")
        if token != _NODE_POOL or len(parts) not in _SHORT_IDS:
            return identifier
        project = self.settings["project"] if len(parts) < max(_SHORT_IDS) else parts.pop(0)
        location, cluster, name = parts
        return f"projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{name}"

    def answer(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the scenario, else the provider's own settings."""
        try:
            return super().answer(function, arguments)
        except NoAnswerError:
            if function != "gcp:organizations/getClientConfig:getClientConfig":
                raise
            known = {key: self.settings.get(key) for key in ("project", "region", "zone")}
            return {key: value for key, value in known.items() if value} | {"id": "stand-in"}
