"""The Google provider's project, location and resource kinds."""

# ruff: noqa: ARG002, D102 - create, update and delete are what `Kind` says

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.cloud import (
    CloudAccount,
    CloudError,
    Made,
    NoAnswerError,
    PlainKind,
    ResourceKind,
)
from gpufleet_sandbox.cloud.sdk import ResourceType
from gpufleet_sandbox.cloud.store import CloudFolder, Stored

_NODE_POOL = "gcp:container/nodePool:NodePool"
_SHORT_IDS = (3, 4)
"""Parts of the shorter forms of a node pool's id."""


class GcpCloud(CloudAccount):
    """One Google project."""

    name = "gcp"

    def __init__(self, folder: CloudFolder, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, settings or {})

    def configured(self, settings: Mapping[str, Any]) -> None:
        """Take the settings; a project there must be, and nothing is read from the environment."""
        if not settings.get("project"):
            raise CloudError("missing project: give gcp.Provider a project")
        super().configured(settings)

    def kind(self, resource: ResourceType) -> ResourceKind:
        """The kind of the type; what is not known here is checked and kept."""
        if resource.token == _NODE_POOL:
            return NodePoolKind(self, resource)
        return GcpPlainKind(self, resource)

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
        """What the scenario says, else the provider's own settings."""
        try:
            return super().answer(function, arguments)
        except NoAnswerError:
            if function != "gcp:organizations/getClientConfig:getClientConfig":
                raise
            known = {key: self.settings.get(key) for key in ("project", "region", "zone")}
            return {key: value for key, value in known.items() if value} | {"id": "stand-in"}


class GcpPlainKind(PlainKind):
    """A resource of Google that is checked and kept."""

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The project, and a link where the type has one."""
        project = inputs.get("project") or self.cloud.settings["project"]
        made: dict[str, Any] = {}
        if "project" in self.resource.outputs:
            made["project"] = project
        if "selfLink" in self.resource.outputs:
            name = identifier.rsplit("/", 1)[-1]
            made["selfLink"] = f"https://www.googleapis.com/stand-in/projects/{project}/{name}"
        return made


class NodePoolKind(PlainKind):
    """container.NodePool."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._admit(inputs)
        return super().create(inputs)

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._admit(inputs)
        return super().update(before, inputs)

    def identifier(self, inputs: Mapping[str, Any]) -> str:
        return f"{self._parent(inputs)}/nodePools/{inputs['name']}"

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        project, location = self._parent(inputs).split("/")[1:4:2]
        group = f"gke-{inputs['name']}-grp"
        zone = (inputs.get("nodeLocations") or [f"{location}-a"])[0]
        link = f"https://www.googleapis.com/compute/v1/projects/{project}/zones/{zone}"
        return {
            "instanceGroupUrls": [f"{link}/instanceGroupManagers/{group}"],
            "managedInstanceGroupUrls": [f"{link}/instanceGroups/{group}"],
            "location": location,
            "project": project,
            "version": inputs.get("version") or "1.36.1-gke.1000000",
            "nodeCount": inputs.get("nodeCount", inputs.get("initialNodeCount", 0)),
        }

    def _admit(self, inputs: Mapping[str, Any]) -> None:
        # Imported late: a preview makes nothing.
        from gpufleet_sandbox.cloud.gcp.admission import admit_node_pool
        from gpufleet_sandbox.cloud.gcp.message import node_pool_message

        if inputs.get("nodeCount") is not None and inputs.get("autoscaling"):
            raise CloudError("googleapi: Error 400: nodeCount cannot be set with autoscaling")
        admit_node_pool(node_pool_message(inputs))

    def _parent(self, inputs: Mapping[str, Any]) -> str:
        cluster = str(inputs["cluster"])
        if cluster.startswith("projects/"):
            return cluster
        settings = self.cloud.settings
        location = inputs.get("location") or settings.get("zone") or settings.get("region")
        if not location:
            raise CloudError(
                "Cannot determine location: set location in this resource, or set region or zone "
                "in the provider"
            )
        project = inputs.get("project") or settings["project"]
        return f"projects/{project}/locations/{location}/clusters/{cluster}"
