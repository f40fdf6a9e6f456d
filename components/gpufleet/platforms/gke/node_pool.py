"""GkeGpuNodePool: the node pools of a GPU pool on GKE, and its ComputeClass."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import GkeGpuNodePoolArgs
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import GpuPoolComponent, Options, PoolPlan, accepted
from gpufleet.components_base.configurations import checked_labels, validate_known_labels
from gpufleet.components_base.inputs import declared
from gpufleet.findings import Finding
from gpufleet.fleet import Pool
from gpufleet.platforms.declarations import compiled_pool
from gpufleet.platforms.gke.compute_class import auto_created, compute_class
from gpufleet.platforms.gke.connection import (
    DEFAULT_PREFIX,
    GkeConnection,
    gke_connection,
)
from gpufleet.platforms.gke.gcp_objects import RESOURCE_POLICY, GcpObject, gcp_parts
from gpufleet.platforms.gke.gpu_networks import validate_networks
from gpufleet.platforms.gke.imported import kept_as_made, validate_import
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.node_pool_arguments import SIZES_IGNORED, node_pools, workload_policies
from gpufleet.platforms.gke.shape import CapacityStep, GkeShape, gke_shape


@dataclass(frozen=True, kw_only=True)
class GkePoolPlan(PoolPlan):
    """The node pools of a pool on GKE."""

    shape: GkeShape
    connection: GkeConnection
    node_pools: Mapping[str, Mapping[str, Any]]
    """Suffix of each capacity type -> arguments of its node pool, without other resources."""
    policies: Mapping[str, Mapping[str, Any]]
    """Suffix -> arguments of the policy that places its hosts, if it has one."""


class GkeGpuNodePool(GpuPoolComponent[GkePoolPlan]):
    """The nodes of a GPU pool on GKE.

    A node pool of GKE has one capacity type. A pool with one capacity type is one node pool; a pool
    with several is a node pool for each, under a ComputeClass that tries them in order. With
    `provisioner: computeClass` only the ComputeClass is created, and GKE creates the node pools.
    Sizes are set once and then left to GKE's own autoscaler. A node pool with `importId` is
    imported unchanged, and with `gke: {imported: manage}` its limits, labels, taints, repair and
    upgrade settings follow the declaration from then on.
    """

    node_pool_names: pulumi.Output[list[str]]
    """Names of the node pools, best capacity type first."""
    instance_group_urls: pulumi.Output[list[str]]
    """Managed instance groups of the node pools."""
    compute_class: pulumi.Output[str | None]
    """Name of the ComputeClass that pods request; absent for a node pool that needs none."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its driver and device plugin run."""

    def __init__(self, name: str, args: GkeGpuNodePoolArgs, opts: Options = None) -> None:
        """`providers` must contain the Google provider, and the Kubernetes provider of the cluster
        for a pool with several capacity types."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: GkePoolPlan) -> Mapping[str, object]:
        pool = plan.pool
        steps = [step for step in plan.shape.steps if step.name in plan.node_pools]
        made = [self._node_pool(name, plan, step) for step in steps]
        self.node_pools = tuple(made)
        manifest = compute_class(pool, plan.connection.name_prefix)
        if manifest is not None:
            account = plan.connection.service_account
            if auto_created(pool) and account is not None:
                manifest["spec"]["nodePoolConfig"]["serviceAccount"] = account
            opts = pulumi.ResourceOptions(parent=self, depends_on=made)
            ManifestObject(f"{name}-class", manifest, opts)
        groups = pulumi.Output.all(*(one.output("instanceGroupUrls") for one in made))
        return {
            "node_pool_names": pulumi.Output.all(*(one.output("name") for one in made)),
            "instance_group_urls": groups.apply(_flat),
            "compute_class": None if manifest is None else pool.name,
            "advertised": dict(pool.advertised),
        }

    def _node_pool(self, name: str, plan: GkePoolPlan, step: CapacityStep) -> GcpObject:
        pool, connection, arguments = plan.pool, plan.connection, plan.node_pools[step.name]
        config = dict(arguments["nodeConfig"])
        config["labels"] = checked_labels(
            self.label(name), pool.name, config["labels"], connection.configurations
        )
        if connection.service_account is not None:
            config["serviceAccount"] = connection.service_account
        if connection.network_tags:
            config["tags"] = list(connection.network_tags)
        wired = {
            **arguments,
            **self._placement(name, plan, step),
            "nodeConfig": config,
            "cluster": connection.cluster_name,
            "location": connection.location,
            **_project(connection),
        }
        if plan.shape.networks:
            places = [connection.gpu_networks[network.name] for network in plan.shape.networks]
            wired["networkConfig"] = {
                **arguments["networkConfig"],
                "additionalNodeNetworkConfigs": [
                    {"network": one["network"], "subnetwork": one["subnetwork"]} for one in places
                ],
            }
        imported = pool.spec.import_id
        ignored: list[str] = list(SIZES_IGNORED)
        if imported is not None:
            # The engine refuses an import that would change something.
            ignored = kept_as_made(pool, config)
        return GcpObject(
            NODE_POOL,
            f"{name}-{step.name or 'pool'}",
            wired,
            pulumi.ResourceOptions(parent=self, ignore_changes=ignored, import_=imported),
            outputs=("name", "instanceGroupUrls"),
        )

    def _placement(self, name: str, plan: GkePoolPlan, step: CapacityStep) -> dict[str, Any]:
        """The policy that places a slice's hosts, if the node pool itself cannot express it."""
        if step.name not in plan.policies:
            return {}
        wanted = {**plan.policies[step.name], **_project(plan.connection)}
        called = f"{step.name or 'pool'}-placement"
        made = gcp_parts(self, name)
        policy = made.made(RESOURCE_POLICY, called, wanted, outputs=("name",))
        return {"placementPolicy": {"type": "COMPACT", "policyName": policy.output("name")}}


def gke_pool_plan(pool: Pool, connection: GkeConnection) -> tuple[GkePoolPlan, list[Finding]]:
    """The plan of a pool, and errors that prevent its creation except missing networks, which are
    checked for all pools together."""
    prefix = connection.name_prefix
    arguments = node_pools(pool, prefix, connection.tags)
    place = {
        "cluster": connection.cluster_name,
        "location": connection.location,
        "project": connection.project,
    }
    findings = validate_import(pool, place)
    shape = gke_shape(pool)
    for step in (one for one in shape.steps if one.name in arguments):
        one = arguments[step.name]
        labels = one["nodeConfig"]["labels"]
        findings += validate_known_labels(labels, connection.configurations, pool.name)
    plan = GkePoolPlan(
        pool=pool,
        shape=shape,
        connection=connection,
        node_pools=arguments,
        policies=workload_policies(pool, prefix, connection.region),
    )
    return plan, findings


def _planned(component: str, args: GkeGpuNodePoolArgs) -> GkePoolPlan:
    given = {"namePrefix": DEFAULT_PREFIX, **declared(component, GkeGpuNodePoolArgs, args)}
    keys = ("region", "kubernetesVersion", "namePrefix", "tags")
    fleet = compiled_pool(component, "gke", given, *keys)
    connection = gke_connection(given, fleet)
    plan, findings = gke_pool_plan(fleet.pools[0], connection)
    findings = [*validate_networks(plan.shape.networks, connection.gpu_networks), *findings]
    return replace(plan, warnings=accepted(component, [*fleet.findings, *findings]))


def _project(connection: GkeConnection) -> dict[str, pulumi.Input[str]]:
    return {} if connection.project is None else {"project": connection.project}


def _flat(groups: list[list[str] | None]) -> list[str]:
    return [url for group in groups for url in group or []]
