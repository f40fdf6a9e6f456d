"""The GKE part of a fleet: the networks of its GPU interfaces, and the component of each pool."""

from typing import Any, cast

import pulumi

from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.components_base.platform_components import (
    Connection,
    no_charts,
    no_operators,
    pool_arguments,
)
from gpufleet.findings import Finding
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.gke.networks import judge_networks, needed_networks, network_objects
from gpufleet.platforms.gke.node_pool import GkeGpuNodePool, GkeGpuNodePoolArgs

platform_operators = no_operators
platform_charts = no_charts

CONNECTION = (
    "cluster_name",
    "gpu_networks",
    "location",
    "network_tags",
    "project",
    "service_account",
)
"""What pools on GKE take of a fleet's connection."""


def judge_platform(fleet: Fleet, connection: Connection) -> list[Finding]:
    """What stands in the way of deploying a fleet that compiles."""
    return judge_networks(needed_networks(fleet.pools), connection.get("gpu_networks") or {})


def platform_parts(
    parent: pulumi.ComponentResource, name: str, fleet: Fleet, connection: Connection
) -> list[pulumi.Resource]:
    """What the fleet's pools need once per cluster beside `GpuAddons`: the objects through which
    pods use GPU interfaces. GKE's own autoscaler is part of the cluster."""
    made: list[pulumi.Resource] = []
    given = connection.get("gpu_networks") or {}
    for network in needed_networks(fleet.pools):
        place = given[network.name]
        parameters, attachment = network_objects(network, place["network"], place["subnetwork"])
        base = f"{name}-network-{network.name}"
        first = ManifestObject(
            f"{base}-parameters", parameters, pulumi.ResourceOptions(parent=parent)
        )
        opts = pulumi.ResourceOptions(parent=parent, depends_on=[first])
        made += [first, ManifestObject(base, attachment, opts)]
    return made


def platform_pool(
    name: str, pool: Pool, fleet: Fleet, connection: Connection, opts: pulumi.ResourceOptions
) -> GkeGpuNodePool:
    """The component that makes the pool's nodes."""
    cluster = fleet.spec.cluster
    arguments: dict[str, Any] = {
        key: connection[key] for key in CONNECTION if connection.get(key) is not None
    }
    arguments = {
        "cluster_name": cluster.name,
        **({"project": cluster.project} if cluster.project is not None else {}),
        **arguments,
        **pool_arguments(fleet, pool),
        "region": cluster.region,
        "kubernetes_version": cluster.kubernetes_version,
        "tags": fleet.spec.tags,
    }
    return GkeGpuNodePool(name, cast("GkeGpuNodePoolArgs", arguments), opts, compiled=pool)
