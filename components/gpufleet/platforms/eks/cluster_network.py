"""The network of an EKS cluster: nodes and pods in private subnets with Internet access by NAT."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from gpufleet.platforms.eks import aws_objects as aws
from gpufleet.platforms.eks.aws_objects import AwsObject
from gpufleet.platforms.eks.cluster_plan import EksClusterPlan

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
