"""Which kind handles which type of resource."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpufleet_sandbox.cloud.aws import compute, containers, identity, messages, network, node_groups
from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind

if TYPE_CHECKING:
    from gpufleet_sandbox.cloud.aws.provider import AwsCloud
    from gpufleet_sandbox.cloud.sdk import ResourceType


def kinds() -> Mapping[str, Callable[["AwsCloud", "ResourceType"], AwsPlainKind]]:
    """Type -> its kind. Types that are not here are checked and kept."""
    return {
        "aws:autoscaling/tag:Tag": compute.GroupTagKind,
        "aws:cloudwatch/eventRule:EventRule": messages.EventRuleKind,
        "aws:cloudwatch/eventTarget:EventTarget": messages.EventTargetKind,
        "aws:ec2/eip:Eip": network.EipKind,
        "aws:ec2/internetGateway:InternetGateway": network.InternetGatewayKind,
        "aws:ec2/launchTemplate:LaunchTemplate": compute.LaunchTemplateKind,
        "aws:ec2/natGateway:NatGateway": network.NatGatewayKind,
        "aws:ec2/placementGroup:PlacementGroup": compute.PlacementGroupKind,
        "aws:ec2/route:Route": network.RouteKind,
        "aws:ec2/routeTable:RouteTable": network.RouteTableKind,
        "aws:ec2/routeTableAssociation:RouteTableAssociation": network.RouteTableAssociationKind,
        "aws:ec2/securityGroup:SecurityGroup": compute.SecurityGroupKind,
        "aws:ec2/securityGroupRule:SecurityGroupRule": compute.SecurityGroupRuleKind,
        "aws:ec2/subnet:Subnet": network.SubnetKind,
        "aws:ec2/tag:Tag": compute.TagKind,
        "aws:ec2/vpc:Vpc": network.VpcKind,
        "aws:ec2/vpcEndpoint:VpcEndpoint": network.VpcEndpointKind,
        "aws:eks/accessEntry:AccessEntry": containers.AccessEntryKind,
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": containers.AccessPolicyKind,
        "aws:eks/addon:Addon": containers.AddonKind,
        "aws:eks/cluster:Cluster": containers.ClusterKind,
        "aws:eks/nodeGroup:NodeGroup": node_groups.NodeGroupKind,
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": containers.PodIdentityKind,
        "aws:iam/instanceProfile:InstanceProfile": identity.InstanceProfileKind,
        "aws:iam/policy:Policy": identity.PolicyKind,
        "aws:iam/role:Role": identity.RoleKind,
        "aws:iam/rolePolicy:RolePolicy": identity.RolePolicyKind,
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": identity.RolePolicyAttachmentKind,
        "aws:iam/serviceLinkedRole:ServiceLinkedRole": identity.ServiceLinkedRoleKind,
        "aws:sqs/queue:Queue": messages.QueueKind,
        "aws:sqs/queuePolicy:QueuePolicy": messages.QueuePolicyKind,
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": compute.EgressRuleKind,
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": compute.IngressRuleKind,
    }
