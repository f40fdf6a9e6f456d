"""VPC: networks, subnets, gateways, routes, endpoints. An account has none of them at first."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, computed_of
from gpufleet_sandbox.cloud.aws.model import request, specifications, tags
from gpufleet_sandbox.cloud.cloud import CloudError, Made
from gpufleet_sandbox.cloud.store import Stored

if TYPE_CHECKING:
    from gpufleet_sandbox.cloud.aws.provider import AwsCloud

EVERYWHERE = "0.0.0.0/0"


class _NetworkKind(AwsPlainKind):
    """Something EC2 makes with one call, and ends with another that takes its id."""

    operation: ClassVar[str]
    """`Vpc`, as operations spell it."""
    tagged: ClassVar[str]
    """Kind of resource in tag specifications."""
    answer: ClassVar[tuple[str, str]]
    """Member of the response, and that of its id."""
    path: ClassVar[str]
    """In the ARN."""
    left_out: ClassVar[tuple[str, ...]] = ()
    """Inputs that other calls take."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        skipped = {"region", "tags", "__defaults", *self.left_out}
        given = {key: value for key, value in inputs.items() if key not in skipped}
        parameters = request("ec2", f"Create{self.operation}", given)
        if marks := specifications(self.tagged, self.all_tags(inputs)):
            parameters["TagSpecifications"] = marks
        found = self.call("ec2", f"Create{self.operation}", inputs, parameters)
        member, id_ = self.answer
        identifier = found[member][id_]
        self.made(identifier, inputs)
        return Made(identifier, {**self.of(identifier, inputs), **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self.made(before.id, inputs)
        if wanted := tags(self.all_tags(inputs)):
            named = {"Resources": [before.id], "Tags": wanted}
            self.call("ec2", "CreateTags", inputs, named)
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        named = {self.answer[1]: before.id}
        self.call("ec2", f"Delete{self.operation}", before.inputs, named)

    def made(self, identifier: str, inputs: Mapping[str, Any]) -> None:
        """Settings that need separate calls."""

    def of(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that the cloud adds."""
        arn = self.cloud.arn("ec2", self.region_of(inputs), f"{self.path}/{identifier}")
        return {"arn": arn} if "arn" in self.resource.outputs else {}


class VpcKind(_NetworkKind):
    """ec2.Vpc."""

    operation, tagged, answer, path = "Vpc", "vpc", ("Vpc", "VpcId"), "vpc"
    left_out = ("enableDnsHostnames", "enableDnsSupport")

    def made(self, identifier: str, inputs: Mapping[str, Any]) -> None:
        for key in self.left_out:
            if inputs.get(key) is not None:
                name = f"{key[0].upper()}{key[1:]}"
                value = {"VpcId": identifier, name: {"Value": bool(inputs[key])}}
                self.call("ec2", "ModifyVpcAttribute", inputs, value)


class SubnetKind(_NetworkKind):
    """ec2.Subnet."""

    operation, tagged, answer, path = "Subnet", "subnet", ("Subnet", "SubnetId"), "subnet"
    left_out = ("mapPublicIpOnLaunch",)


class InternetGatewayKind(_NetworkKind):
    """ec2.InternetGateway, attached to its network."""

    operation, tagged = "InternetGateway", "internet-gateway"
    answer, path = ("InternetGateway", "InternetGatewayId"), "internet-gateway"
    left_out = ("vpcId",)

    def create(self, inputs: Mapping[str, Any]) -> Made:
        made = super().create(inputs)
        self._attach("Attach", made.id, inputs)
        return made

    def delete(self, before: Stored) -> None:
        self._attach("Detach", before.id, before.inputs)
        super().delete(before)

    def _attach(self, verb: str, identifier: str, inputs: Mapping[str, Any]) -> None:
        if vpc := inputs.get("vpcId"):
            both = {"InternetGatewayId": identifier, "VpcId": vpc}
            self.call("ec2", f"{verb}InternetGateway", inputs, both)


class EipKind(AwsPlainKind):
    """ec2.Eip: a public address."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        parameters: dict[str, Any] = {"Domain": inputs.get("domain") or "vpc"}
        if marks := specifications("elastic-ip", self.all_tags(inputs)):
            parameters["TagSpecifications"] = marks
        made = self.call("ec2", "AllocateAddress", inputs, parameters)
        computed = {"allocationId": made["AllocationId"], "publicIp": made["PublicIp"]}
        return Made(made["AllocationId"], {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        self.call("ec2", "ReleaseAddress", before.inputs, {"AllocationId": before.id})


class NatGatewayKind(_NetworkKind):
    """ec2.NatGateway: useless, and refused by the cloud, where its own subnet has no way out."""

    operation, tagged = "NatGateway", "natgateway"
    answer, path = ("NatGateway", "NatGatewayId"), "natgateway"

    def create(self, inputs: Mapping[str, Any]) -> Made:
        subnet = str(inputs["subnetId"])
        route = default_route(self.cloud, self.region_of(inputs), subnet)
        if "GatewayId" not in route:
            # EC2 fails such a gateway some seconds after it was requested (VPC user guide,
            # nat-gateway-troubleshooting, InvalidGateway).
            raise CloudError(
                f"waiting for EC2 NAT Gateway create: unexpected state 'failed': Network "
                f"{subnet} has no Internet gateway attached"
            )
        return super().create(inputs)


class RouteTableKind(_NetworkKind):
    """ec2.RouteTable, without inline routes."""

    operation, tagged = "RouteTable", "route-table"
    answer, path = ("RouteTable", "RouteTableId"), "route-table"


class RouteKind(AwsPlainKind):
    """ec2.Route."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        given = {key: value for key, value in inputs.items() if key not in ("region", "__defaults")}
        self.call("ec2", "CreateRoute", inputs, request("ec2", "CreateRoute", given))
        destination = inputs["destinationCidrBlock"]
        return Made(
            f"r-{inputs['routeTableId']}{destination}", {"origin": "CreateRoute", "state": "active"}
        )

    def delete(self, before: Stored) -> None:
        named = {
            "RouteTableId": before.inputs["routeTableId"],
            "DestinationCidrBlock": before.inputs["destinationCidrBlock"],
        }
        self.call("ec2", "DeleteRoute", before.inputs, named)


class RouteTableAssociationKind(AwsPlainKind):
    """ec2.RouteTableAssociation."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        both = {"RouteTableId": inputs["routeTableId"], "SubnetId": inputs["subnetId"]}
        found = self.call("ec2", "AssociateRouteTable", inputs, both)
        return Made(found["AssociationId"])

    def delete(self, before: Stored) -> None:
        self.call("ec2", "DisassociateRouteTable", before.inputs, {"AssociationId": before.id})


class VpcEndpointKind(_NetworkKind):
    """ec2.VpcEndpoint."""

    operation, tagged = "VpcEndpoint", "vpc-endpoint"
    answer, path = ("VpcEndpoint", "VpcEndpointId"), "vpc-endpoint"

    def delete(self, before: Stored) -> None:
        self.call("ec2", "DeleteVpcEndpoints", before.inputs, {"VpcEndpointIds": [before.id]})


def default_route(cloud: "AwsCloud", region: str, subnet: str) -> Mapping[str, Any]:
    """The route of a subnet to everywhere; empty where it has none."""
    found = cloud.account.call("ec2", "DescribeRouteTables", region, {})["RouteTables"]
    own = [
        table
        for table in found
        if any(one.get("SubnetId") == subnet for one in table["Associations"])
    ]
    if not own:
        named = {"SubnetIds": [subnet]}
        (described,) = cloud.account.call("ec2", "DescribeSubnets", region, named)["Subnets"]
        own = [
            table
            for table in found
            if table["VpcId"] == described["VpcId"]
            and any(one.get("Main") for one in table["Associations"])
        ]
    routes = [route for table in own for route in table["Routes"]]
    return next((one for one in routes if one.get("DestinationCidrBlock") == EVERYWHERE), {})
