"""EksCluster: a cluster for GPU pools in an empty account, and its network: nodes and pods in
private subnets with Internet access by NAT."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pulumi

from gpufleet.arguments import EksClusterArgs
from gpufleet.arguments.connections import GpuFleetConnectionArgs
from gpufleet.components_base.cloud_object import CloudParts, ready_output
from gpufleet.components_base.cluster_networks import kubeconfig_text
from gpufleet.components_base.component import GpuComponent, Options
from gpufleet.components_base.inputs import checked, refuse
from gpufleet.findings import has_errors
from gpufleet.platforms.eks.aws_objects import (
    CLUSTER,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    AwsObject,
    aws_parts,
)
from gpufleet.platforms.eks.cluster_plan import (
    AFTER_NODES,
    BEFORE_NODES,
    CLUSTER_POLICIES,
    EBS_CSI_ACCOUNT,
    EBS_CSI_POLICY,
    NODE_POLICIES,
    EksClusterPlan,
    cluster_plan,
    cluster_resources,
    role_prefix,
)
from gpufleet.platforms.eks.pod_identity import TRUST, policy_text
from gpufleet.spec.platforms.eks import DeclaredEksCluster


@dataclass(frozen=True, slots=True)
class ClusterNetwork:
    """A created network."""

    vpc: AwsObject
    private: Mapping[str, AwsObject]
    """Zone -> private subnet."""
    way_out: tuple[AwsObject, ...]
    """Routes that machines in private subnets need to reach other networks."""


def cluster_network(made: CloudParts[AwsObject], plan: EksClusterPlan) -> ClusterNetwork:
    """Create it: VPC, subnets of two kinds in each zone, NAT, and an endpoint for S3."""
    declared = plan.declared
    vpc = made("vpc", cidr=declared.cidr)
    gateway = made("internet", vpc=vpc.id)
    public_table = made("table", vpc=vpc.id, kind="public")
    to_internet = made("publicRoute", table=public_table.id, gateway=gateway.id)
    tables: list[AwsObject] = []
    private: dict[str, AwsObject] = {}
    way_out: list[AwsObject] = []
    for zone, ranges in plan.zones.items():
        place = {"vpc": vpc.id, "zone": zone}
        public = made("publicSubnet", **place, cidr=ranges.public)
        both = {"subnet": public.id, "table": public_table.id}
        joined = made("association", kind="public", zone=zone, **both)
        if not tables or declared.nat == "perZone":
            address = made("address", gateway, zone=zone)
            nat = made("nat", to_internet, joined, zone=zone, address=address.id, subnet=public.id)
            tables.append(made("table", vpc=vpc.id, kind=f"private-{zone}"))
            way_out.append(made("privateRoute", zone=zone, table=tables[-1].id, nat=nat.id))
        private[zone] = made("privateSubnet", **place, cidr=ranges.private)
        both = {"subnet": private[zone].id, "table": tables[-1].id}
        way_out.append(made("association", kind="private", zone=zone, **both))
    made("imageLayers", vpc=vpc.id, region=declared.region, tables=[one.id for one in tables])
    return ClusterNetwork(vpc, private, tuple(way_out))


class EksCluster(GpuComponent[EksClusterPlan]):
    """An EKS cluster with all requirements of GPU pools: network with NAT, control plane, nodes for
    controllers, roles, and the add-ons VPC CNI, kube-proxy, CoreDNS, Pod Identity agent and EBS CSI
    driver. Private by default.

    Optional: pools accept any cluster. Its outputs have the names of `connection` of a `GpuFleet`;
    resources that use them are created after network, add-ons and system nodes, and removed before
    them.
    """

    cluster_name: pulumi.Output[str]
    """Name of the cluster, once nodes can join it."""
    cluster_endpoint: pulumi.Output[str]
    """Address of the API server."""
    cluster_certificate_authority: pulumi.Output[str]
    """Its certificate authority, Base64."""
    cluster_service_cidr: pulumi.Output[str]
    """Address range of services."""
    cluster_security_group_id: pulumi.Output[str]
    """Security group that EKS created for the cluster."""
    vpc_id: pulumi.Output[str]
    """Network of the cluster."""
    subnet_ids_by_zone: pulumi.Output[dict[str, str]]
    """Zone -> private subnet."""
    node_role_arn: pulumi.Output[str]
    """Role for the nodes of GPU pools, with its policies. System nodes have another one: EKS
    creates the access entry of this role with the first managed node group, or Karpenter's add-on
    creates it."""
    kubeconfig: pulumi.Output[str]
    """JSON that uses `aws eks get-token` for credentials, once add-ons and system nodes work."""

    def __init__(self, name: str, args: EksClusterArgs, opts: Options = None) -> None:
        """`providers` must hold the AWS provider of the account and region."""
        self._construct(name, _planned(self.label(name), args), opts)

    @property
    def connection(self) -> GpuFleetConnectionArgs:
        """Value for `connection` of `GpuFleet`."""
        return {
            "cluster_name": self.cluster_name,
            "cluster_endpoint": self.cluster_endpoint,
            "cluster_certificate_authority": self.cluster_certificate_authority,
            "cluster_service_cidr": self.cluster_service_cidr,
            "cluster_security_group_id": self.cluster_security_group_id,
            "vpc_id": self.vpc_id,
            "subnet_ids_by_zone": dict(self._subnets),
            "node_role_arn": self.node_role_arn,
        }

    def _make(self, name: str, plan: EksClusterPlan) -> Mapping[str, object]:
        tags = plan.declared.tags
        made = aws_parts(self, name, cluster=plan.name, tags=tags)
        network = cluster_network(made, plan)
        role, policies = _role(made, plan, "cluster", trust("eks"), CLUSTER_POLICIES)
        arguments = cluster_resources(plan)["cluster"]
        arguments["roleArn"] = role.output("arn")
        arguments["vpcConfig"]["subnetIds"] = [one.id for one in network.private.values()]
        # Its interfaces are removed before the network, and it needs the policies for that.
        cluster = made.made(
            CLUSTER,
            "cluster",
            arguments,
            *policies,
            *network.way_out,
            outputs=("endpoint", "certificateAuthority", "kubernetesNetworkConfig"),
        )
        if plan.declared.spot_role:
            made("spotRole")
        known = dict.fromkeys(("version", "values", "identities"))
        known |= {"made": cluster.output("name")}
        before = [made("addon", called=one, addon=one, **known) for one in BEFORE_NODES]
        system = _system_nodes(made, plan, cluster, network, before)
        after = [
            made("addon", system, called=one, addon=one, **known | _identity(made, plan, one))
            for one in AFTER_NODES
        ]
        nodes, node_policies = _role(made, plan, "gpu-nodes", trust("ec2"), NODE_POLICIES)
        ready = ready_output(cluster.output("name"), *before)
        self._subnets = {
            zone: ready_output(subnet.id, *network.way_out)
            for zone, subnet in network.private.items()
        }
        endpoint = cluster.output("endpoint")
        authority = cluster.part("certificateAuthority", "data")
        kubeconfig = pulumi.Output.all(ready, endpoint, authority).apply(
            lambda parts: (
                None if None in parts else eks_kubeconfig_text(*parts, region=plan.declared.region)
            )
        )
        return {
            "cluster_name": ready,
            "cluster_endpoint": endpoint,
            "cluster_certificate_authority": authority,
            "cluster_service_cidr": cluster.part("kubernetesNetworkConfig", "serviceIpv4Cidr"),
            "cluster_security_group_id": cluster.part("vpcConfig", "clusterSecurityGroupId"),
            "vpc_id": network.vpc.id,
            "subnet_ids_by_zone": pulumi.Output.all(**self._subnets),
            "node_role_arn": ready_output(nodes.output("arn"), *node_policies),
            "kubeconfig": ready_output(kubeconfig, system, *after),
        }


def _role(
    made: CloudParts[AwsObject],
    plan: EksClusterPlan,
    what: str,
    trusted: str,
    policies: Sequence[str],
) -> tuple[AwsObject, list[AwsObject]]:
    """A role, its trusted service, and its AWS managed policies."""
    role = made("role", what=what, prefix=role_prefix(plan, what), trusted=trusted)
    attached = [
        made(
            "attachment",
            what=what,
            policy=policy.rsplit("/", 1)[-1],
            role=role.output("name"),
            arn=role.derived("arn", partial(_managed_policy, policy)),
        )
        for policy in policies
    ]
    return role, attached


def _system_nodes(
    made: CloudParts[AwsObject],
    plan: EksClusterPlan,
    cluster: AwsObject,
    network: ClusterNetwork,
    before: Sequence[AwsObject],
) -> AwsObject:
    rendered = cluster_resources(plan)
    role, policies = _role(made, plan, "system-nodes", trust("ec2"), NODE_POLICIES)
    template = made.made(
        LAUNCH_TEMPLATE, "system-template", rendered["systemTemplate"], outputs=("latestVersion",)
    )
    version = template.derived("latestVersion", lambda number: str(int(number)))
    wired = {
        **rendered["systemGroup"],
        "clusterName": cluster.output("name"),
        "nodeRoleArn": role.output("arn"),
        "subnetIds": [one.id for one in network.private.values()],
        "launchTemplate": {"id": template.id, "version": version},
    }
    return made.made(NODE_GROUP, "system", wired, *policies, *before)


def _identity(made: CloudParts[AwsObject], plan: EksClusterPlan, one: str) -> dict[str, Any]:
    """Requirements of the EBS CSI driver besides its add-on: a role by Pod Identity."""
    if one != "aws-ebs-csi-driver":
        return {}
    role, policies = _role(made, plan, "ebs-csi", policy_text(TRUST), [EBS_CSI_POLICY])
    arn = ready_output(role.output("arn"), *policies)
    return {"identities": [{"roleArn": arn, "serviceAccount": EBS_CSI_ACCOUNT}]}


def trust(service: str) -> str:
    """Trust policy for a service of AWS, `eks` or `ec2`."""
    actions = ["sts:AssumeRole", *(["sts:TagSession"] if service == "eks" else [])]
    principal = {"Service": [f"{service}.amazonaws.com"]}
    statement = {"Effect": "Allow", "Principal": principal, "Action": actions}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def eks_kubeconfig_text(cluster: str, endpoint: str, authority: str, *, region: str) -> str:
    """A kubeconfig with tokens of the AWS CLI."""
    arguments = ["eks", "get-token", "--cluster-name", cluster, "--region", region]
    return kubeconfig_text(cluster, endpoint, authority, "aws", arguments=arguments)


def _managed_policy(policy: str, role_arn: str) -> str:
    """ARN of an AWS managed policy, in the partition of a role."""
    return f"arn:{role_arn.split(':')[1]}:iam::aws:policy/{policy}"


def _planned(component: str, args: EksClusterArgs) -> EksClusterPlan:
    declared = checked(component, EksClusterArgs, args, DeclaredEksCluster)
    plan, findings = cluster_plan(declared)
    if has_errors(findings):
        refuse(component, findings)
    return plan
