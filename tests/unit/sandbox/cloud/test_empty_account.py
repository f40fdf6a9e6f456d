"""Refusals of an empty account: machines that cannot join, clusters without roles."""

from typing import Any

import pytest

from tests.clouds import Clouds
from tests.unit.sandbox.cloud.provider_calls import Caller, RefusedError
from tests.unit.sandbox.cloud.test_aws import NODE_GROUP, group

CLUSTER = "aws:eks/cluster:Cluster"


@pytest.fixture(scope="module")
def cluster(clouds: Clouds) -> dict[str, Any]:
    return clouds.eks_cluster("ml")


def test_machines_join_only_a_cluster_that_lets_them(
    aws: Caller, clouds: Clouds, cluster: dict[str, Any]
) -> None:
    """Missing parts of an empty account: a route out, policies of the role."""
    network = clouds.aws_call("ec2", "CreateVpc", CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    alone = clouds.aws_call(
        "ec2", "CreateSubnet", VpcId=network, AvailabilityZone="us-east-1a", CidrBlock="10.9.0.0/20"
    )["Subnet"]["SubnetId"]
    one = {"scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 1}}
    with pytest.raises(RefusedError, match=r"NodeCreationFailure.*no route to a NAT gateway"):
        aws.create(NODE_GROUP, group(cluster, subnetIds=[alone], **one), "alone")
    bare = cluster["nodeRoleArn"].replace("ml-nodes", "ml-cluster")
    with pytest.raises(RefusedError, match="the node role has no AmazonEKSWorkerNodePolicy"):
        aws.create(NODE_GROUP, group(cluster, nodeRoleArn=bare, **one), "bare")
    empty = {"scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0}}
    identifier, _, _ = aws.create(NODE_GROUP, group(cluster, nodeRoleArn=bare, **empty), "empty")
    aws.delete(NODE_GROUP, identifier)
    identifier, _, _ = aws.create(NODE_GROUP, group(cluster, **one), "joined")
    aws.delete(NODE_GROUP, identifier)


def test_a_cluster_needs_its_policy_and_two_zones(aws: Caller, cluster: dict[str, Any]) -> None:
    subnets = list(cluster["subnetIdsByZone"].values())
    role = cluster["nodeRoleArn"].replace("ml-nodes", "ml-cluster")
    wanted = {"name": "second", "roleArn": role, "vpcConfig": {"subnetIds": subnets}}
    with pytest.raises(RefusedError, match="doesn't have the Amazon EKS Managed Policies"):
        aws.create(CLUSTER, wanted)
    attached = {"role": "ml-cluster", "policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"}
    policy, _, _ = aws.create("aws:iam/rolePolicyAttachment:RolePolicyAttachment", attached)
    with pytest.raises(RefusedError, match="at least two different AZs"):
        aws.create(CLUSTER, {**wanted, "vpcConfig": {"subnetIds": subnets[:1]}})
    identifier, outputs, _ = aws.create(CLUSTER, wanted)
    assert outputs["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-")
    driver = {"clusterName": "second", "addonName": "coredns"}
    with pytest.raises(RefusedError, match="DEGRADED"):
        aws.create("aws:eks/addon:Addon", driver)
    aws.delete(CLUSTER, identifier)
    aws.delete("aws:iam/rolePolicyAttachment:RolePolicyAttachment", policy)


def test_a_nat_gateway_needs_a_way_out_and_a_spot_role_exists_once(
    aws: Caller, clouds: Clouds
) -> None:
    network = clouds.aws_call("ec2", "CreateVpc", CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
    inside = {"vpcId": network, "cidrBlock": "10.8.0.0/20", "availabilityZone": "us-east-1a"}
    subnet, _, _ = aws.create("aws:ec2/subnet:Subnet", inside)
    address, _, _ = aws.create("aws:ec2/eip:Eip", {"domain": "vpc"})
    with pytest.raises(RefusedError, match="has no Internet gateway attached"):
        aws.create("aws:ec2/natGateway:NatGateway", {"allocationId": address, "subnetId": subnet})
    token, wanted = "aws:iam/serviceLinkedRole:ServiceLinkedRole", "spot.amazonaws.com"
    role, _, _ = aws.create(token, {"awsServiceName": wanted})
    with pytest.raises(RefusedError, match="has been taken in this account"):
        aws.create(token, {"awsServiceName": wanted}, "again")
    aws.delete(token, role)


def test_a_new_project_has_its_apis_off_and_keeps_networks_in_use(gcp: Caller) -> None:
    network = {"name": "ml", "autoCreateSubnetworks": False}
    with pytest.raises(RefusedError, match=r"compute\.googleapis\.com has not been used"):
        gcp.create("gcp:compute/network:Network", network)
    for service in ("compute.googleapis.com", "container.googleapis.com"):
        gcp.create("gcp:projects/service:Service", {"service": service}, service)
    made, _, _ = gcp.create("gcp:compute/network:Network", network)
    nodes = {"name": "ml", "region": "us-central1", "ipCidrRange": "10.0.0.0/20", "network": made}
    subnetwork, _, _ = gcp.create("gcp:compute/subnetwork:Subnetwork", nodes)
    with pytest.raises(RefusedError, match="resourceInUseByAnotherResource"):
        gcp.delete("gcp:compute/network:Network", made)
    cluster = {
        "name": "ml",
        "location": "us-central1",
        "network": made,
        "subnetwork": subnetwork,
        "privateClusterConfig": {"enablePrivateNodes": True},
    }
    ranges = {"ipAllocationPolicy": {"clusterSecondaryRangeName": "pods"}}
    with pytest.raises(RefusedError, match="secondary range pods not found"):
        gcp.create("gcp:container/cluster:Cluster", {**cluster, **ranges})
    gcp.create("gcp:container/cluster:Cluster", cluster)
    account = "nodes@stand-in.iam.gserviceaccount.com"
    pool = {
        "cluster": "ml",
        "name": "system",
        "location": "us-central1",
        "nodeCount": 1,
        "nodeConfig": {"machineType": "e2-standard-4", "serviceAccount": account},
    }
    with pytest.raises(RefusedError, match=r"only 0 nodes out of 3.*no Cloud NAT"):
        gcp.create("gcp:container/nodePool:NodePool", pool)
    with pytest.raises(RefusedError, match=rf"{account} has none of roles/container"):
        gcp.create("gcp:container/nodePool:NodePool", pool)
    gcp.create("gcp:container/nodePool:NodePool", {**pool, "name": "empty", "nodeCount": 0})
