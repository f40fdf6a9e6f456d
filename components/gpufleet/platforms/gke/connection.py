"""Connection of GKE pools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.arguments.connections import GkeNetworkArgs
from gpufleet.fleet import Fleet

DEFAULT_PREFIX = "gpufleet"


@dataclass(frozen=True, slots=True, kw_only=True)
class GkeConnection:
    """Connection of GKE pools, with the common settings of all pools of a cluster."""

    cluster_name: pulumi.Input[str]
    region: str
    location: pulumi.Input[str]
    project: pulumi.Input[str] | None
    service_account: pulumi.Input[str] | None
    network_tags: Sequence[pulumi.Input[str]]
    gpu_networks: Mapping[str, GkeNetworkArgs]
    configurations: pulumi.Input[list[str]] | None
    name_prefix: str
    tags: Mapping[str, str]


def gke_connection(given: Mapping[str, Any], fleet: Fleet) -> GkeConnection:
    """The connection of a fleet: `given` has the arguments of a component of pools, or a fleet's
    connection, in the spelling of files."""
    cluster = fleet.spec.cluster
    assert cluster.region is not None  # a fleet on GKE does not compile without it
    return GkeConnection(
        cluster_name=given.get("clusterName", cluster.name),
        region=cluster.region,
        location=given.get("location", cluster.region),
        project=given.get("project", cluster.project),
        service_account=given.get("serviceAccount"),
        network_tags=given.get("networkTags", ()),
        gpu_networks=given.get("gpuNetworks", {}),
        configurations=given.get("configurations"),
        name_prefix=fleet.spec.resource_prefix,
        tags=fleet.spec.tags,
    )
