"""Look-ups that the simulated account answers by itself."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gpufleet_sandbox.cloud.aws.account import ACCOUNT_ID
from gpufleet_sandbox.cloud.cloud import CloudError

if TYPE_CHECKING:
    from gpufleet_sandbox.cloud.aws.provider import AwsCloud


def look_up(
    cloud: "AwsCloud", function: str, arguments: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The answer, or None where the account has no own one.

    Raises:
        CloudError: the account refuses, such as for a subnet that does not exist.
    """
    known = _LOOKUPS.get(function)
    return None if known is None else known(cloud, arguments)


def _identity(_cloud: "AwsCloud", _arguments: Mapping[str, Any]) -> dict[str, Any]:
    arn = f"arn:aws:iam::{ACCOUNT_ID}:user/stand-in"
    return {"accountId": ACCOUNT_ID, "arn": arn, "id": ACCOUNT_ID, "userId": "AIDASTANDIN"}


def _region(cloud: "AwsCloud", arguments: Mapping[str, Any]) -> dict[str, Any]:
    name = str(arguments.get("region") or cloud.region)
    return {"id": name, "name": name, "region": name, "description": name}


def _partition(_cloud: "AwsCloud", _arguments: Mapping[str, Any]) -> dict[str, Any]:
    suffix = "amazonaws.com"
    return {
        "id": "aws",
        "partition": "aws",
        "dnsSuffix": suffix,
        "reverseDnsPrefix": ".".join(reversed(suffix.split("."))),
    }


def _subnet(cloud: "AwsCloud", arguments: Mapping[str, Any]) -> dict[str, Any]:
    region = str(arguments.get("region") or cloud.region)
    request = {"SubnetIds": [arguments["id"]]} if arguments.get("id") else {}
    found = cloud.account.call("ec2", "DescribeSubnets", region, request)["Subnets"]
    if len(found) != 1:
        raise CloudError(f"one EC2 subnet is requested, and {len(found)} match")
    one = found[0]
    return {
        "id": one["SubnetId"],
        "arn": one["SubnetArn"],
        "availabilityZone": one["AvailabilityZone"],
        "availabilityZoneId": one["AvailabilityZoneId"],
        "availableIpAddressCount": one["AvailableIpAddressCount"],
        "cidrBlock": one["CidrBlock"],
        "region": region,
        "state": one["State"],
        "vpcId": one["VpcId"],
        "tags": {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])},
    }


def _cluster(cloud: "AwsCloud", arguments: Mapping[str, Any]) -> dict[str, Any]:
    region = str(arguments.get("region") or cloud.region)
    one = cloud.account.call("eks", "DescribeCluster", region, {"name": arguments["name"]})
    cluster = one["cluster"]
    network = cluster.get("resourcesVpcConfig", {})
    return {
        "id": cluster["name"],
        "name": cluster["name"],
        "arn": cluster["arn"],
        "endpoint": cluster["endpoint"],
        "version": cluster["version"],
        "roleArn": cluster["roleArn"],
        "status": cluster["status"],
        "region": region,
        "vpcConfig": {
            "clusterSecurityGroupId": network.get("clusterSecurityGroupId"),
            "subnetIds": network.get("subnetIds", []),
            "vpcId": network.get("vpcId"),
            "securityGroupIds": network.get("securityGroupIds", []),
        },
    }


def _node_groups(cloud: "AwsCloud", arguments: Mapping[str, Any]) -> dict[str, Any]:
    region, name = str(arguments.get("region") or cloud.region), arguments["clusterName"]
    # moto raises where EKS returns ResourceNotFoundException.
    cloud.account.call("eks", "DescribeCluster", region, {"name": name})
    found = cloud.account.call("eks", "ListNodegroups", region, {"clusterName": name})
    return {"id": name, "clusterName": name, "names": found["nodegroups"], "region": region}


def _node_group(cloud: "AwsCloud", arguments: Mapping[str, Any]) -> dict[str, Any]:
    region = str(arguments.get("region") or cloud.region)
    named = {"clusterName": arguments["clusterName"], "nodegroupName": arguments["nodeGroupName"]}
    one = cloud.account.call("eks", "DescribeNodegroup", region, named)["nodegroup"]
    return {
        "id": f"{one['clusterName']}:{one['nodegroupName']}",
        "arn": one["nodegroupArn"],
        "clusterName": one["clusterName"],
        "nodeGroupName": one["nodegroupName"],
        "nodeRoleArn": one["nodeRole"],
        "region": region,
        "scalingConfigs": [one["scalingConfig"]],
        "status": one["status"],
        "subnetIds": one["subnets"],
        "tags": one.get("tags") or {},
    }


_LOOKUPS: Mapping[str, Callable[["AwsCloud", Mapping[str, Any]], dict[str, Any]]] = {
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:eks/getNodeGroup:getNodeGroup": _node_group,
    "aws:eks/getNodeGroups:getNodeGroups": _node_groups,
    "aws:index/getCallerIdentity:getCallerIdentity": _identity,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
}
