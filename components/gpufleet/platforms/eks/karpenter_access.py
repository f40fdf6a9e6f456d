"""What Karpenter may do in AWS, and the events it receives.

Every write is bound to the cluster by tags that Karpenter sets itself. Source:
karpenter-provider-aws v1.14.1, the policies and event rules of its installation guide.
"""

import json
from typing import Any

EVENTS: dict[str, dict[str, list[str]]] = {
    "health": {"source": ["aws.health"], "detail-type": ["AWS Health Event"]},
    "spot": {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]},
    "rebalance": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance Rebalance Recommendation"]},
    "state": {"source": ["aws.ec2"], "detail-type": ["EC2 Instance State-change Notification"]},
    "reservation": {
        "source": ["aws.ec2"],
        "detail-type": ["EC2 Capacity Reservation Instance Interruption Warning"],
    },
}
"""Why a machine may end before its time -> pattern of the event."""

RETENTION_SECONDS = 300
"""Events older than this are of no use: an interrupted spot machine has two minutes."""

POD_IDENTITY_TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
            }
        ],
    }
)
"""Who may take the role of a controller: pods, through EKS Pod Identity."""

EC2_SERVICES = ("ec2.amazonaws.com", "ec2.amazonaws.com.cn")
"""Who takes the role of a node: EC2, which has a name of its own in the partition `aws-cn`."""

_LAUNCHED = ("fleet", "instance", "launch-template", "network-interface", "spot-instances-request")
_READ = (
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribePlacementGroups",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
)
_INGREDIENTS = (
    "capacity-reservation",
    "image",
    "placement-group",
    "security-group",
    "snapshot",
    "subnet",
)
_MADE = ("ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate")


def karpenter_policy(
    cluster: str, region: str, node_role_arn: str, queue_arn: str
) -> dict[str, Any]:
    """The policy of the controller's role. `node_role_arn` tells partition and account."""
    partition, account = node_role_arn.split(":")[1], node_role_arn.split(":")[4]
    ec2 = f"arn:{partition}:ec2:{region}:*"
    owned = f"kubernetes.io/cluster/{cluster}"
    made_here = {"StringEquals": {f"aws:RequestTag/{owned}": "owned"}, **_LIKE_REQUEST}
    ours = {"StringEquals": {f"aws:ResourceTag/{owned}": "owned"}, **_LIKE_RESOURCE}
    launched = [f"{ec2}:{kind}/*" for kind in (*_LAUNCHED, "volume")]
    profiles = f"arn:{partition}:iam::{account}:instance-profile/*"
    statements = [
        _allow(["ec2:RunInstances", "ec2:CreateFleet"], [f"{ec2}:{one}/*" for one in _INGREDIENTS]),
        _allow(["ec2:RunInstances", "ec2:CreateFleet"], [f"{ec2}:launch-template/*"], ours),
        _allow(list(_MADE), launched, made_here),
        _allow(
            ["ec2:CreateTags"],
            launched,
            {
                "StringEquals": {
                    f"aws:RequestTag/{owned}": "owned",
                    "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"],
                },
                **_LIKE_REQUEST,
            },
        ),
        _allow(["ec2:CreateTags"], [f"{ec2}:instance/*"], ours),
        _allow(
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            [f"{ec2}:instance/*", f"{ec2}:launch-template/*"],
            ours,
        ),
        _allow(list(_READ), ["*"], {"StringEquals": {"aws:RequestedRegion": region}}),
        _allow(["ssm:GetParameter"], [f"arn:{partition}:ssm:{region}::parameter/aws/service/*"]),
        _allow(["pricing:GetProducts"], ["*"]),
        _allow(
            [
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:GetQueueUrl",
                "sqs:ReceiveMessage",
            ],
            [queue_arn],
        ),
        _allow(
            ["iam:PassRole"],
            [node_role_arn],
            {"StringEquals": {"iam:PassedToService": list(EC2_SERVICES)}},
        ),
        _allow(
            ["iam:CreateInstanceProfile", "iam:TagInstanceProfile"],
            [profiles],
            {"StringEquals": {f"aws:RequestTag/{owned}": "owned"}},
        ),
        _allow(
            [
                "iam:AddRoleToInstanceProfile",
                "iam:DeleteInstanceProfile",
                "iam:RemoveRoleFromInstanceProfile",
            ],
            [profiles],
            {"StringEquals": {f"aws:ResourceTag/{owned}": "owned"}},
        ),
        _allow(["iam:GetInstanceProfile", "iam:ListInstanceProfiles"], ["*"]),
        _allow(
            ["eks:DescribeCluster"], [f"arn:{partition}:eks:{region}:{account}:cluster/{cluster}"]
        ),
    ]
    return {"Version": "2012-10-17", "Statement": statements}


_LIKE_REQUEST = {"StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"}}
_LIKE_RESOURCE = {"StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"}}


def _allow(
    actions: list[str], resources: list[str], condition: dict[str, Any] | None = None
) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": actions, "Resource": resources}
    return statement if condition is None else {**statement, "Condition": condition}


def queue_policy(queue_arn: str) -> dict[str, Any]:
    """Who may write to the queue: EventBridge, over TLS only."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
            },
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": queue_arn,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }
