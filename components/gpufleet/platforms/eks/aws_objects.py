"""Resources of the AWS provider, by type, from rendered arguments (`cloud_object`)."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_aws import _utilities as aws_sdk

from gpufleet.components_base.cloud_object import CloudObject

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
EIP = "aws:ec2/eip:Eip"
NAT_GATEWAY = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ROUTE_TABLE_ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
VPC_ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
ACCESS_ENTRY = "aws:eks/accessEntry:AccessEntry"
ACCESS_POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
ADDON = "aws:eks/addon:Addon"
POD_IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
SCALING_GROUP_TAG = "aws:autoscaling/tag:Tag"
SCHEDULE = "aws:autoscaling/schedule:Schedule"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ROLE_POLICY_ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
SERVICE_LINKED_ROLE = "aws:iam/serviceLinkedRole:ServiceLinkedRole"
QUEUE = "aws:sqs/queue:Queue"
QUEUE_POLICY = "aws:sqs/queuePolicy:QueuePolicy"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
EVENT_TARGET = "aws:cloudwatch/eventTarget:EventTarget"


class AwsObject(CloudObject):
    """One resource of the AWS provider."""

    def defaults(self) -> pulumi.ResourceOptions:
        """As `CloudObject`."""
        return aws_sdk.get_resource_opts_defaults()


def look_up(component: pulumi.Resource, function: str, arguments: Mapping[str, Any]) -> Any:
    """The result of a function of the component's AWS provider.

    Waits for it. Raises Exception with the provider's message when it refuses.
    """
    options = pulumi.InvokeOptions.merge(
        aws_sdk.get_invoke_opts_defaults(), pulumi.InvokeOptions(parent=component)
    )
    return pulumi.runtime.invoke(function, dict(arguments), options).value
