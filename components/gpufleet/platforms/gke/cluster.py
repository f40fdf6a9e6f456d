"""GkeCluster: a cluster for GPU pools in an empty project."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from gpufleet.arguments import GkeClusterArgs
from gpufleet.arguments.connections import GpuFleetConnectionArgs
from gpufleet.components_base.cloud_object import ready_output
from gpufleet.components_base.cluster_networks import kubeconfig_text
from gpufleet.components_base.component import GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.platforms.gke import gcp_objects as gcp
from gpufleet.platforms.gke.cluster_plan import (
    IMAGE_ROLE,
    NODE_ROLE,
    SERVICES,
    GkeClusterPlan,
    cluster_resources,
    gke_cluster_plan,
)
from gpufleet.platforms.gke.gcp_objects import gcp_parts
from gpufleet.platforms.gke.gpu_networks import SUBNETWORK
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.spec.platforms.gke import DeclaredGkeCluster


class GkeCluster(GpuComponent[GkeClusterPlan]):
    """A GKE cluster with all requirements of GPU pools: network with Cloud NAT, private nodes,
    Dataplane V2, Workload Identity, nodes for controllers, and a service account with few rights.

    Optional: pools accept any cluster. Its outputs have the names of `connection` of a `GpuFleet`;
    resources that use them are created after network, rights and system nodes, and removed before
    them.
    """

    cluster_name: pulumi.Output[str]
    """Name of the cluster, once nodes can join it."""
    cluster_endpoint: pulumi.Output[str]
    """Address of the control plane, without the scheme."""
    cluster_certificate_authority: pulumi.Output[str]
    """Its certificate authority, Base64."""
    location: pulumi.Output[str]
    """Location of the control plane."""
    network: pulumi.Output[str]
    """Name of the network."""
    subnetwork: pulumi.Output[str]
    """Name of the subnet of nodes."""
    service_account: pulumi.Output[str]
    """E-mail of the nodes' service account, with its rights."""
    kubeconfig: pulumi.Output[str]
    """JSON that uses `gke-gcloud-auth-plugin` for credentials, once system nodes work."""

    def __init__(self, name: str, args: GkeClusterArgs, opts: Options = None) -> None:
        """`providers` must contain the Google provider."""
        self._construct(name, _planned(self.label(name), args), opts)

    @property
    def connection(self) -> GpuFleetConnectionArgs:
        """Value for `connection` of `GpuFleet`."""
        return {
            "cluster_name": self.cluster_name,
            "location": self.location,
            "project": self._plan.declared.project,
            "service_account": self.service_account,
        }

    def _make(self, name: str, plan: GkeClusterPlan) -> Mapping[str, object]:
        rendered, declared = cluster_resources(plan), plan.declared
        project = {"project": declared.project}
        known = {**project, "cluster": plan.name, "region": declared.region}
        made = gcp_parts(self, name, **known)
        on = [
            made("service", called=service.partition(".")[0], service=service)
            for service in (SERVICES if declared.enable_services else ())
        ]
        network = made("network", *on)
        inside = {**project, **rendered["subnetwork"], "network": network.id}
        subnetwork = made.made(SUBNETWORK, "subnetwork", inside)
        router = made("router", network=network.id)
        way_out = {**project, **rendered["nat"], "router": router.output("name")}
        nat = made.made(gcp.ROUTER_NAT, "nat", way_out)
        account = made("account", *on, id=plan.account_id)
        email = account.output("email")
        member = account.derived("email", "serviceAccount:{}".format)
        rights = [
            made("right", called=role.rsplit(".", 1)[-1], role=role, member=member)
            for role in (NODE_ROLE, IMAGE_ROLE)
        ]
        wired = {**rendered["cluster"], "network": network.id, "subnetwork": subnetwork.id}
        outputs = ("endpoint", "masterAuth")
        cluster = made.made(gcp.CLUSTER, "cluster", wired, *on, outputs=outputs)
        pool: dict[str, Any] = {
            **project,
            **rendered["systemPool"],
            "cluster": cluster.output("name"),
        }
        pool["nodeConfig"]["serviceAccount"] = email
        system = made.made(NODE_POOL, "system", pool, nat, *rights)
        endpoint = cluster.output("endpoint")
        authority = cluster.part("masterAuth", "clusterCaCertificate")
        ready = ready_output(cluster.output("name"), nat)
        kubeconfig = pulumi.Output.all(ready, endpoint, authority).apply(
            lambda parts: None if None in parts else gke_kubeconfig_text(*parts)
        )
        return {
            "cluster_name": ready,
            "cluster_endpoint": endpoint,
            "cluster_certificate_authority": authority,
            "location": cluster.output("location"),
            "network": network.output("name"),
            "subnetwork": subnetwork.output("name"),
            "service_account": ready_output(email, *rights),
            "kubeconfig": ready_output(kubeconfig, system),
        }


def gke_kubeconfig_text(cluster: str, endpoint: str, authority: str) -> str:
    """A kubeconfig with tokens of Google's plugin."""
    address, command = f"https://{endpoint}", "gke-gcloud-auth-plugin"
    return kubeconfig_text(cluster, address, authority, command, cluster_info=True)


def _planned(component: str, args: GkeClusterArgs) -> GkeClusterPlan:
    declared = checked(component, GkeClusterArgs, args, DeclaredGkeCluster)
    plan, findings = gke_cluster_plan(declared)
    return replace(plan, warnings=accepted(component, findings))
