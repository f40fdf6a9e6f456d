"""GkeGpuNodePool: the node pools of a GPU pool on GKE, and its ComputeClass."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.components_base.configurations import checked_labels
from gpufleet.components_base.inputs import compiled_already, declared, refuse
from gpufleet.components_base.known_output import known_output
from gpufleet.components_base.manifest_object import ManifestObject
from gpufleet.findings import has_errors
from gpufleet.fleet import Pool
from gpufleet.platforms.gke.compute_class import compute_class
from gpufleet.platforms.gke.connection import DEFAULT_PREFIX, GkeNetworkArgs, compiled_pool
from gpufleet.platforms.gke.gcp_objects import NODE_POOL, RESOURCE_POLICY, GcpObject
from gpufleet.platforms.gke.imported import judge_import, kept_as_made
from gpufleet.platforms.gke.networks import judge_networks
from gpufleet.platforms.gke.node_pool_arguments import SIZES_IGNORED, node_pools, workload_policies
from gpufleet.platforms.gke.shape import Rung, gke_shape


class GkeGpuNodePoolArgs(TypedDict):
    """Inputs of `GkeGpuNodePool`."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    region: str
    """Region of the cluster, `us-central1`."""
    cluster_name: pulumi.Input[str]
    """Cluster the nodes join. Give the output of the resource that makes the cluster, and the
    nodes wait for it."""
    location: NotRequired[pulumi.Input[str]]
    """Where the control plane is: the region, or a zone for a zonal cluster. Default: the
    region."""
    project: NotRequired[pulumi.Input[str]]
    """Google Cloud project of the cluster. Default: the provider's."""
    service_account: NotRequired[pulumi.Input[str]]
    """E-mail of the nodes' service account. Default: the project's default one, which has more
    rights than nodes need."""
    network_tags: NotRequired[list[pulumi.Input[str]]]
    """Network tags of the nodes, for firewall rules. Default: none."""
    gpu_networks: NotRequired[dict[str, GkeNetworkArgs]]
    """Networks of GPU interfaces, by the name pods use: `vpc1` to `vpc4` (GPUDirect-TCPX) or `vpc8`
    (TCPXO), `gvnic-1` and `rdma-0` to `rdma-7` (RDMA). The names must be known before deployment.
    Default: none."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""
    name_prefix: NotRequired[str]
    """First part of names in Google Cloud. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Resource labels of the nodes. Default: none."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    choose anything else are refused. Default: not compared, the add-ons are of this program."""


class GkeGpuNodePool(pulumi.ComponentResource):
    """The nodes of a GPU pool on GKE.

    GKE buys the nodes of one node pool in one way. A pool with one way of buying is one node pool;
    a pool with several is a node pool for each, under a ComputeClass that tries them in order.
    Sizes are set once and then left to GKE's own autoscaler. A node pool with `importId` is taken
    over as it is, and with `gke: {imported: manage}` its limits, labels, taints, repair and upgrade
    settings follow the declaration from then on.
    """

    node_pool_names: pulumi.Output[list[str]]
    """Names of the node pools, best way of buying first."""
    instance_group_urls: pulumi.Output[list[str]]
    """Managed instance groups behind them."""
    compute_class: pulumi.Output[str | None]
    """Name of the ComputeClass pods ask for; absent for a pool with one way of buying."""
    advertised: pulumi.Output[dict[str, int]]
    """Extended resources each node publishes once its driver and device plugin run."""

    def __init__(
        self,
        name: str,
        args: GkeGpuNodePoolArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        compiled: Pool | None = None,
    ) -> None:
        """Make the node pools.

        Args:
            name: Name of the component, unique in its stack.
            args: Declaration and connection.
            opts: Options; `providers` must hold the Google provider, and the Kubernetes provider
                of the cluster for a pool with several ways of buying.
            compiled: What the declaration means within its fleet, when the caller has compiled
                the whole fleet: labels depend on the other pools. Default: the pool on its own.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'GkeGpuNodePool "{name}"'
        given = declared(
            component,
            GkeGpuNodePoolArgs,
            cast("dict[str, Any]", args),
            unread=compiled_already(compiled),
        )
        pool = compiled or compiled_pool(component, given)
        shape = gke_shape(pool)
        findings = judge_networks(shape.networks, given.get("gpuNetworks", {}))
        location = given.get("location", given["region"])
        place = {"cluster": given["clusterName"], "location": location}
        findings += judge_import(pool, {**place, "project": given.get("project")})
        if has_errors(findings):
            refuse(component, findings)
        prefix = given.get("namePrefix", DEFAULT_PREFIX)
        arguments = node_pools(pool, prefix, given.get("tags", {}))
        super().__init__("gpufleet:index:GkeGpuNodePool", name, {}, opts)
        self._spec: GpuPoolArgs = args["pool"]
        policies = workload_policies(pool, prefix, given["region"])
        made = [
            self._node_pool(
                component,
                name,
                rung,
                {**arguments[rung.name], **self._placement(name, rung, policies, given)},
                pool,
                given,
            )
            for rung in shape.rungs
        ]
        self.node_pools = tuple(made)
        self._compute_class(name, pool, prefix, made)
        self.node_pool_names = pulumi.Output.all(*(one.output("name") for one in made))
        groups = pulumi.Output.all(*(one.output("instanceGroupUrls") for one in made))
        self.instance_group_urls = groups.apply(_flat)
        compute_class, advertised = pool.name if shape.ladder else None, dict(pool.advertised)
        self.compute_class = known_output(compute_class)
        self.advertised = known_output(advertised)
        self.register_outputs(
            {
                "nodePoolNames": self.node_pool_names,
                "instanceGroupUrls": self.instance_group_urls,
                "computeClass": compute_class,
                "advertised": advertised,
            }
        )

    @property
    def spec(self) -> GpuPoolArgs:
        """The pool's declaration, to hand on to other components: `GpuAddons` takes a list."""
        return self._spec

    def _node_pool(
        self,
        component: str,
        name: str,
        rung: Rung,
        arguments: Mapping[str, Any],
        pool: Pool,
        given: Mapping[str, Any],
    ) -> GcpObject:
        config = dict(arguments["nodeConfig"])
        known = given.get("configurations")
        config["labels"] = checked_labels(component, pool.name, config["labels"], known)
        if "serviceAccount" in given:
            config["serviceAccount"] = given["serviceAccount"]
        if given.get("networkTags"):
            config["tags"] = list(given["networkTags"])
        wired = {
            **arguments,
            "nodeConfig": config,
            "cluster": given["clusterName"],
            "location": given.get("location", given["region"]),
        }
        if "project" in given:
            wired["project"] = given["project"]
        networks = gke_shape(pool).networks
        if networks:
            places = [given["gpuNetworks"][network.name] for network in networks]
            wired["networkConfig"] = {
                **arguments["networkConfig"],
                "additionalNodeNetworkConfigs": [
                    {"network": one["network"], "subnetwork": one["subnetwork"]} for one in places
                ],
            }
        imported = pool.spec.import_id
        ignored: list[str] = list(SIZES_IGNORED)
        if imported is not None:
            # An import that would change something is refused by the engine.
            ignored = kept_as_made(pool, config)
        return GcpObject(
            NODE_POOL,
            f"{name}-{rung.name or 'pool'}",
            wired,
            pulumi.ResourceOptions(parent=self, ignore_changes=ignored, import_=imported),
            outputs=("name", "instanceGroupUrls"),
        )

    def _placement(
        self,
        name: str,
        rung: Rung,
        policies: Mapping[str, Mapping[str, Any]],
        given: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The policy that places a slice's hosts, where the node pool itself cannot say how."""
        if rung.name not in policies:
            return {}
        project = {"project": given["project"]} if "project" in given else {}
        policy = GcpObject(
            RESOURCE_POLICY,
            f"{name}-{rung.name or 'pool'}-placement",
            {**policies[rung.name], **project},
            pulumi.ResourceOptions(parent=self),
            outputs=("name",),
        )
        return {"placementPolicy": {"type": "COMPACT", "policyName": policy.output("name")}}

    def _compute_class(self, name: str, pool: Pool, prefix: str, made: list[GcpObject]) -> None:
        manifest = compute_class(pool, prefix)
        if manifest is not None:
            ManifestObject(
                f"{name}-class",
                manifest,
                pulumi.ResourceOptions(parent=self, depends_on=made),
            )


def _flat(groups: list[list[str] | None]) -> list[str]:
    return [url for group in groups for url in group or []]
