"""Which inputs cannot change in place: the providers' `ForceNew`, which no SDK carries.

A path holds for everything below it. A path with a leading `=` holds for the block itself, when it
appears or goes away, and not for what is inside. Lists are written without an index.

Sources: rows of `gpufleet.catalogue.provider_inputs` for Google's provider; hashicorp/
terraform-provider-aws 012e0a3 and b11fc0f, `internal/service/{eks,ec2,iam,sqs,events,autoscaling}`,
the schema of each resource (`ForceNew` and `RequiresReplace`). Read 2026-11-21.
"""

from collections.abc import Mapping, Sequence

from gpufleet.catalogue.provider_inputs import constraints

_OF_AWS: Mapping[str, Sequence[str]] = {
    "aws:eks/cluster:Cluster": ("name", "roleArn"),
    "aws:eks/nodeGroup:NodeGroup": (
        "amiType",
        "capacityType",
        "clusterName",
        "diskSize",
        "instanceTypes",
        "launchTemplate.id",
        "launchTemplate.name",
        "nodeGroupName",
        "nodeGroupNamePrefix",
        "nodeRoleArn",
        "remoteAccess",
        "subnetIds",
    ),
    "aws:eks/addon:Addon": ("addonName", "clusterName"),
    "aws:eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": (
        "accessScope",
        "clusterName",
        "policyArn",
        "principalArn",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": (
        "clusterName",
        "namespace",
        "serviceAccount",
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix"),
    "aws:ec2/placementGroup:PlacementGroup": (
        "name",
        "partitionCount",
        "spreadLevel",
        "strategy",
    ),
    "aws:ec2/securityGroup:SecurityGroup": ("description", "name", "namePrefix", "vpcId"),
    "aws:ec2/securityGroupRule:SecurityGroupRule": (
        "cidrBlocks",
        "fromPort",
        "ipv6CidrBlocks",
        "prefixListIds",
        "protocol",
        "securityGroupId",
        "self",
        "sourceSecurityGroupId",
        "toPort",
        "type",
    ),
    "aws:ec2/tag:Tag": ("key", "resourceId"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("securityGroupId",),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": ("securityGroupId",),
    "aws:iam/role:Role": ("name", "namePrefix", "path"),
    "aws:iam/policy:Policy": ("description", "name", "namePrefix", "path"),
    "aws:iam/rolePolicy:RolePolicy": ("name", "namePrefix", "role"),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("policyArn", "role"),
    "aws:iam/instanceProfile:InstanceProfile": ("name", "namePrefix", "path"),
    "aws:sqs/queue:Queue": ("fifoQueue", "name", "namePrefix"),
    "aws:sqs/queuePolicy:QueuePolicy": ("queueUrl",),
    "aws:cloudwatch/eventRule:EventRule": ("eventBusName", "name", "namePrefix"),
    "aws:cloudwatch/eventTarget:EventTarget": ("eventBusName", "rule", "targetId"),
    "aws:autoscaling/tag:Tag": ("autoscalingGroupName", "tag.key"),
}

REPLACING: Mapping[str, Sequence[str]] = {
    **_OF_AWS,
    **{
        token: [
            f"={row.path}" if row.replaces == "block" else row.path
            for row in rows
            if row.replaces is not None
        ]
        for token, rows in constraints("gcp").items()
    },
}
"""Type -> paths of inputs whose change makes a new resource."""

ALWAYS = {"aws": ("region",), "gcp": ()}
"""Inputs of every resource of a provider that cannot change in place."""


def replaces(token: str, path: str) -> bool:
    """Whether a change at that path (`taints[0].value`, `nodeConfig.spot`) makes a new resource."""
    plain = _without_indexes(path)
    for entry in (*REPLACING.get(token, ()), *ALWAYS.get(token.partition(":")[0], ())):
        if plain == entry.removeprefix("="):
            return True
        if not entry.startswith("=") and plain.startswith(f"{entry}."):
            return True
    return False


def _without_indexes(path: str) -> str:
    parts = path.replace("]", "").split("[")
    return parts[0] + "".join(
        part.lstrip("0123456789") if not part.startswith('"') else "." + part.strip('"')
        for part in parts[1:]
    )
