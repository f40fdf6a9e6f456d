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
from gpufleet.components_base.cloud_object import ready_output
from gpufleet.components_base.cluster_networks import kubeconfig_text
from gpufleet.components_base.component import GpuComponent, Options
from gpufleet.components_base.inputs import checked, refuse
from gpufleet.findings import has_errors
from gpufleet.platforms.eks import aws_objects as aws
from gpufleet.platforms.eks.aws_objects import AwsObject
from gpufleet.platforms.eks.cluster_plan import (
    AFTER_NODES,
    BEFORE_NODES,
    CLUSTER_POLICIES,
    EBS_CSI_ACCOUNT,
    EBS_CSI_POLICY,
    NODE_POLICIES,
    EksClusterPlan,
    addon,
    cluster_plan,
    cluster_resources,
    role_prefix,
)
from gpufleet.platforms.eks.pod_identity import TRUST, policy_text
from gpufleet.spec.platforms.eks import DeclaredEksCluster

EVERYWHERE = "0.0.0.0/0"


@dataclass(frozen=True, slots=True)
class ClusterNetwork:
    """A created network."""

    vpc: AwsObject
    private: Mapping[str, AwsObject]
    """Zone -> private subnet."""
    way_out: tuple[AwsObject, ...]
    """Routes that machines in private subnets need to reach other networks."""


def cluster_network(
    component: pulumi.ComponentResource, name: str, plan: EksClusterPlan
) -> ClusterNetwork:
    """Create it: VPC, subnets of two kinds in each zone, NAT, and an endpoint for S3, which stores
    the layers of images in ECR."""

    def made(type_: str, suffix: str, arguments: dict[str, Any], *after: AwsObject) -> AwsObject:
        opts = pulumi.ResourceOptions(parent=component, depends_on=list(after))
        return AwsObject(type_, f"{name}-{suffix}", arguments, opts)

    def table(
        suffix: str, target: dict[str, Any], *after: AwsObject
    ) -> tuple[AwsObject, AwsObject]:
        """A route table with a default route."""
        tags = plan.tags(suffix)
        own = made(aws.ROUTE_TABLE, f"{suffix}-table", {"vpcId": vpc.id, "tags": tags})
        route = {"routeTableId": own.id, "destinationCidrBlock": EVERYWHERE, **target}
        return own, made(aws.ROUTE, f"{suffix}-route", route, *after)

    def subnet(
        kind: str, zone: str, cidr: str, role: str, routes: AwsObject
    ) -> tuple[AwsObject, ...]:
        """A subnet with its route table."""
        arguments = {
            "vpcId": vpc.id,
            "availabilityZone": zone,
            "cidrBlock": cidr,
            "tags": {**plan.tags(f"{kind}-{zone}"), f"kubernetes.io/role/{role}": "1"},
        }
        own = made(aws.SUBNET, f"{kind}-{zone}", arguments)
        both = {"subnetId": own.id, "routeTableId": routes.id}
        return own, made(aws.ROUTE_TABLE_ASSOCIATION, f"{kind}-{zone}-routes", both)

    vpc = made(
        aws.VPC,
        "vpc",
        {
            "cidrBlock": plan.declared.cidr,
            "enableDnsHostnames": True,
            "enableDnsSupport": True,
            "tags": plan.tags("vpc"),
        },
    )
    internet = {"vpcId": vpc.id, "tags": plan.tags("internet")}
    gateway = made(aws.INTERNET_GATEWAY, "internet", internet)
    public_table, to_internet = table("public", {"gatewayId": gateway.id})
    tables: list[AwsObject] = []
    private: dict[str, AwsObject] = {}
    way_out: list[AwsObject] = []
    for zone, ranges in plan.zones.items():
        public, joined = subnet("public", zone, ranges.public, "elb", public_table)
        if not tables or plan.declared.nat == "perZone":
            address = {"domain": "vpc", "tags": plan.tags(f"nat-{zone}")}
            nat = made(
                aws.NAT_GATEWAY,
                f"nat-{zone}",
                {
                    "allocationId": made(aws.EIP, f"nat-{zone}-address", address, gateway).id,
                    "subnetId": public.id,
                    "tags": plan.tags(f"nat-{zone}"),
                },
                to_internet,
                joined,
            )
            own, route = table(f"private-{zone}", {"natGatewayId": nat.id})
            tables.append(own)
            way_out.append(route)
        private[zone], joined = subnet("private", zone, ranges.private, "internal-elb", tables[-1])
        way_out.append(joined)
    made(
        aws.VPC_ENDPOINT,
        "s3",
        {
            "vpcId": vpc.id,
            "serviceName": f"com.amazonaws.{plan.declared.region}.s3",
            "vpcEndpointType": "Gateway",
            "routeTableIds": [one.id for one in tables],
            "tags": plan.tags("s3"),
        },
    )
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
        tags, network = plan.declared.tags, cluster_network(self, name, plan)
        role, policies = self._role(name, plan, "cluster", trust("eks"), CLUSTER_POLICIES)
        rendered = cluster_resources(plan)
        arguments = rendered["cluster"]
        arguments["roleArn"] = role.output("arn")
        arguments["vpcConfig"]["subnetIds"] = [one.id for one in network.private.values()]
        cluster = AwsObject(
            aws.CLUSTER,
            f"{name}-cluster",
            arguments,
            # Its interfaces are removed before the network, and it needs the policies for that.
            pulumi.ResourceOptions(parent=self, depends_on=[*policies, *network.way_out]),
            outputs=("endpoint", "certificateAuthority", "kubernetesNetworkConfig"),
        )
        if plan.declared.spot_role:
            self._made(aws.SERVICE_LINKED_ROLE, f"{name}-spot", {"awsServiceName": SPOT_SERVICE})
        before = [
            self._made(aws.ADDON, f"{name}-{one}", addon(one, cluster.output("name"), tags))
            for one in BEFORE_NODES
        ]
        system = self._system_nodes(name, plan, cluster, network, before)
        after = [
            self._made(
                aws.ADDON,
                f"{name}-{one}",
                addon(one, cluster.output("name"), tags, **self._identity(name, plan, one)),
                system,
            )
            for one in AFTER_NODES
        ]
        nodes, node_policies = self._role(name, plan, "gpu-nodes", trust("ec2"), NODE_POLICIES)
        ready = ready_output(cluster.output("name"), *before)
        self._subnets = {
            zone: ready_output(subnet.id, *network.way_out)
            for zone, subnet in network.private.items()
        }
        endpoint = cluster.output("endpoint")
        authority = cluster.derived("certificateAuthority", lambda found: str(found["data"]))
        kubeconfig = pulumi.Output.all(ready, endpoint, authority).apply(
            lambda parts: (
                None if None in parts else eks_kubeconfig_text(*parts, region=plan.declared.region)
            )
        )
        return {
            "cluster_name": ready,
            "cluster_endpoint": endpoint,
            "cluster_certificate_authority": authority,
            "cluster_service_cidr": cluster.derived(
                "kubernetesNetworkConfig",
                lambda found: _key(found, "serviceIpv4Cidr", "service_ipv4_cidr"),
            ),
            "cluster_security_group_id": cluster.derived(
                "vpcConfig",
                lambda found: _key(found, "clusterSecurityGroupId", "cluster_security_group_id"),
            ),
            "vpc_id": network.vpc.id,
            "subnet_ids_by_zone": pulumi.Output.all(**self._subnets),
            "node_role_arn": ready_output(nodes.output("arn"), *node_policies),
            "kubeconfig": ready_output(kubeconfig, system, *after),
        }

    def _made(
        self, type_: str, name: str, arguments: Mapping[str, Any], *after: pulumi.Resource
    ) -> AwsObject:
        return AwsObject(
            type_, name, arguments, pulumi.ResourceOptions(parent=self, depends_on=list(after))
        )

    def _role(
        self, name: str, plan: EksClusterPlan, what: str, trusted: str, policies: Sequence[str]
    ) -> tuple[AwsObject, list[AwsObject]]:
        """A role, its trusted service, and its AWS managed policies."""
        made = AwsObject(
            aws.ROLE,
            f"{name}-{what}-role",
            {
                "namePrefix": role_prefix(plan, what),
                "description": f"Role {what} of the EKS cluster {plan.name}",
                "assumeRolePolicy": trusted,
                "tags": plan.declared.tags,
            },
            pulumi.ResourceOptions(parent=self),
            outputs=("arn", "name"),
        )
        attached = [
            self._made(
                aws.ROLE_POLICY_ATTACHMENT,
                f"{name}-{what}-{policy.rsplit('/', 1)[-1]}",
                {
                    "role": made.output("name"),
                    "policyArn": made.derived("arn", partial(_managed_policy, policy)),
                },
            )
            for policy in policies
        ]
        return made, attached

    def _system_nodes(
        self,
        name: str,
        plan: EksClusterPlan,
        cluster: AwsObject,
        network: ClusterNetwork,
        before: Sequence[AwsObject],
    ) -> AwsObject:
        rendered = cluster_resources(plan)
        role, policies = self._role(name, plan, "system-nodes", trust("ec2"), NODE_POLICIES)
        template = AwsObject(
            aws.LAUNCH_TEMPLATE,
            f"{name}-system-template",
            rendered["systemTemplate"],
            pulumi.ResourceOptions(parent=self),
            outputs=("latestVersion",),
        )
        version = template.derived("latestVersion", lambda number: str(int(number)))
        wired = {
            **rendered["systemGroup"],
            "clusterName": cluster.output("name"),
            "nodeRoleArn": role.output("arn"),
            "subnetIds": [one.id for one in network.private.values()],
            "launchTemplate": {"id": template.id, "version": version},
        }
        after = (*policies, *before)
        return self._made(aws.NODE_GROUP, f"{name}-system", wired, *after)

    def _identity(self, name: str, plan: EksClusterPlan, one: str) -> dict[str, Any]:
        """Requirements of the EBS CSI driver besides its add-on: a role by Pod Identity."""
        if one != "aws-ebs-csi-driver":
            return {}
        role, policies = self._role(name, plan, "ebs-csi", policy_text(TRUST), [EBS_CSI_POLICY])
        arn = ready_output(role.output("arn"), *policies)
        return {"podIdentityAssociations": [{"roleArn": arn, "serviceAccount": EBS_CSI_ACCOUNT}]}


SPOT_SERVICE = "spot.amazonaws.com"


def trust(service: str) -> str:
    """Trust policy for a service of AWS, `eks` or `ec2`."""
    actions = ["sts:AssumeRole", *(["sts:TagSession"] if service == "eks" else [])]
    principal = {"Service": [f"{service}.amazonaws.com"]}
    statement = {"Effect": "Allow", "Principal": principal, "Action": actions}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def eks_kubeconfig_text(cluster: str, endpoint: str, authority: str, *, region: str) -> str:
    """A kubeconfig with tokens of the AWS CLI."""
    arguments = ["eks", "get-token", "--cluster-name", cluster, "--region", region]
    return kubeconfig_text(cluster, endpoint, authority, {"command": "aws", "args": arguments})


def _key(found: Any, *spellings: str) -> str | None:
    """The SDK returns keys in either spelling; None if it has neither."""
    return next((str(found[one]) for one in spellings if one in found), None)


def _managed_policy(policy: str, role_arn: str) -> str:
    """ARN of an AWS managed policy, in the partition of a role."""
    return f"arn:{role_arn.split(':')[1]}:iam::aws:policy/{policy}"


def _planned(component: str, args: EksClusterArgs) -> EksClusterPlan:
    declared = checked(component, EksClusterArgs, args, DeclaredEksCluster)
    plan, findings = cluster_plan(declared)
    if has_errors(findings):
        refuse(component, findings)
    return plan
