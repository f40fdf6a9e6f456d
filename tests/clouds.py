"""Both simulated clouds in a test's own process: the engine attaches, the test reads their state.

The engine starts no plugin for a provider named in `PULUMI_DEBUG_PROVIDERS`; it connects. That
saves a second for each command. One difference remains: all provider instances of a program use
one server, so the settings of the last one apply (give resources their own region where it
matters; the installed plugin has a process for each).
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from gpufleet_sandbox.cloud.aws.provider import AwsCloud
from gpufleet_sandbox.cloud.gcp.provider import GcpCloud
from gpufleet_sandbox.cloud.scenario import Disturbance, LookupAnswer, Scenario
from gpufleet_sandbox.cloud.server import serving
from gpufleet_sandbox.cloud.store import FOLDER_VARIABLE, Call, CloudFolder, Stored

NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEKS_CNI_Policy",
)
"""Policies of the role of nodes (EKS user guide, create-node-role)."""


class Clouds:
    """An AWS account and a Google project, empty at first.

    Args:
        root: folder of their state.
        ports: port of each, by provider name.
    """

    def __init__(self, root: Path, ports: Mapping[str, int] | None = None) -> None:
        self.folder = CloudFolder(root)
        self.aws = AwsCloud(self.folder, {"region": "us-east-1"})
        self.gcp = GcpCloud(self.folder, {"project": "stand-in"})
        self._ports = dict(ports or {})

    def environment(self) -> dict[str, str]:
        """Variables with which the engine uses them."""
        where = {FOLDER_VARIABLE: str(self.folder.root)}
        if self._ports:
            attached = ",".join(f"{name}:{port}" for name, port in self._ports.items())
            where["PULUMI_DEBUG_PROVIDERS"] = attached
        return where

    def resources(self, token: str | None = None) -> list[Stored]:
        """Existing resources, all or of one type."""
        return self.folder.resources(token)

    def one(self, token: str) -> Stored:
        """The only resource of that type. Raises LookupError when there are none or several."""
        found = self.resources(token)
        if len(found) != 1:
            raise LookupError(f"{len(found)} resources of type {token}, not one")
        return found[0]

    def calls(self, operation: str | None = None) -> list[Call]:
        """Calls that reached the clouds, previews apart."""
        return self.folder.calls(operation)

    def disturb(self, *rules: Disturbance, answers: tuple[LookupAnswer, ...] = ()) -> None:
        """From now on these rules hold, and no others."""
        self.folder.set_scenario(Scenario(rules=rules, answers=answers))

    def calm(self) -> None:
        """From now on everything works."""
        self.folder.set_scenario(Scenario())

    def aws_call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """An AWS API call by another client, outside of any program."""
        return self.aws.account.call(service, operation, self.aws.region, parameters)

    def eks_cluster(
        self,
        name: str,
        zones: tuple[str, ...] = ("us-east-1a", "us-east-1b"),
        version: str = "1.36",
    ) -> dict[str, Any]:
        """A cluster with a network, as a platform team would hand it over.

        Returns:
            `clusterName`, `nodeRoleArn`, `subnetIdsByZone`, `vpcId`, `clusterSecurityGroupId`.
        """
        network = self.aws_call("ec2", "CreateVpc", CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        internet = self.aws_call("ec2", "CreateInternetGateway")["InternetGateway"]
        gateway = {"InternetGatewayId": internet["InternetGatewayId"]}
        self.aws_call("ec2", "AttachInternetGateway", VpcId=network, **gateway)
        subnets = {
            zone: self.aws_call(
                "ec2",
                "CreateSubnet",
                VpcId=network,
                AvailabilityZone=zone,
                CidrBlock=f"10.0.{index * 16}.0/20",
            )["Subnet"]["SubnetId"]
            for index, zone in enumerate(zones)
        }
        address = self.aws_call("ec2", "AllocateAddress", Domain="vpc")["AllocationId"]
        nat = self.aws_call(
            "ec2", "CreateNatGateway", AllocationId=address, SubnetId=next(iter(subnets.values()))
        )["NatGateway"]["NatGatewayId"]
        table = self.aws_call("ec2", "CreateRouteTable", VpcId=network)["RouteTable"]
        routes = {"RouteTableId": table["RouteTableId"]}
        everywhere = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": nat}
        self.aws_call("ec2", "CreateRoute", **routes, **everywhere)
        for subnet in subnets.values():
            self.aws_call("ec2", "AssociateRouteTable", **routes, SubnetId=subnet)
        roles = {
            kind: self.aws_call(
                "iam",
                "CreateRole",
                RoleName=f"{name}-{kind}",
                AssumeRolePolicyDocument=(
                    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": '
                    f'"sts:AssumeRole", "Principal": {{"Service": "{service}.amazonaws.com"}}}}]}}'
                ),
            )["Role"]["Arn"]
            for kind, service in (("cluster", "eks"), ("nodes", "ec2"))
        }
        for policy in NODE_POLICIES:
            arn = f"arn:aws:iam::aws:policy/{policy}"
            self.aws_call("iam", "AttachRolePolicy", RoleName=f"{name}-nodes", PolicyArn=arn)
        group = self.aws_call(
            "ec2",
            "CreateSecurityGroup",
            GroupName=f"eks-cluster-sg-{name}",
            Description="nodes and control plane",
            VpcId=network,
        )["GroupId"]
        self.aws_call(
            "eks",
            "CreateCluster",
            name=name,
            roleArn=roles["cluster"],
            version=version,
            resourcesVpcConfig={"subnetIds": list(subnets.values())},
        )
        return {
            "clusterName": name,
            "nodeRoleArn": roles["nodes"],
            "subnetIdsByZone": subnets,
            "vpcId": network,
            "clusterSecurityGroupId": group,
        }


@contextmanager
def stand_in_clouds(root: Path) -> Iterator[Clouds]:
    """Serve both clouds from this process while the block runs."""
    made = Clouds(root)
    with ExitStack() as servers:
        ports = {
            cloud.name: servers.enter_context(serving(cloud)) for cloud in (made.aws, made.gcp)
        }
        attached = Clouds(root, ports)
        try:
            yield attached
        finally:
            from gpufleet_sandbox.cloud.aws.account import close

            close()
