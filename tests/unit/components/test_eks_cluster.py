"""EksCluster: what is made for an account that has nothing, and in which order."""

import json
from ipaddress import ip_network
from typing import Any

import pulumi
import pytest

from gpufleet import EksCluster, GpuFleet
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.platforms.eks import aws_objects as aws
from gpufleet.platforms.eks.cluster import eks_kubeconfig_text
from gpufleet.platforms.eks.cluster_plan import zone_networks
from tests.unit.components.snapshots import assert_snapshot

ADDON = "aws:eks/addon:Addon"
ARGS: dict[str, Any] = {
    "cluster_name": "ml",
    "region": "us-east-1",
    "zones": ["us-east-1a", "us-east-1b"],
    "tags": {"cost-center": "4711"},
}


def test_everything_a_gpu_pool_needs_is_made(run: Any) -> None:
    made = run(lambda: EksCluster("ml", {**ARGS, "nat": "perZone", "spot_role": True}))
    assert_snapshot("eks-cluster", made)
    cluster = made.one(aws.CLUSTER)
    assert cluster.inputs["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster.inputs["vpcConfig"]["endpointPrivateAccess"] is True
    assert cluster.inputs["accessConfig"]["authenticationMode"] == "API"
    assert cluster.inputs["bootstrapSelfManagedAddons"] is False
    assert len(made.all("aws:ec2/natGateway:NatGateway")) == 2
    assert made.one("aws:iam/serviceLinkedRole:ServiceLinkedRole").inputs == {
        "awsServiceName": "spot.amazonaws.com"
    }
    tagged = [one for one in made.resources if "tags" in one.inputs]
    assert len(tagged) > 20
    assert all(one.inputs["tags"]["cost-center"] == "4711" for one in tagged)


def test_nodes_come_after_what_they_join_by_and_deployments_after_nodes(run: Any) -> None:
    made = run(lambda: EksCluster("ml", ARGS))
    group = made.one(aws.NODE_GROUP)
    assert {"ml-vpc-cni", "ml-kube-proxy", "ml-eks-pod-identity-agent"} <= set(group.depends_on)
    assert "ml-system-nodes-AmazonEKSWorkerNodePolicy" in group.depends_on
    for name in ("ml-coredns", "ml-aws-ebs-csi-driver"):
        assert "ml-system" in made.one(ADDON, name).depends_on
    nat = made.one("aws:ec2/natGateway:NatGateway")
    assert {"ml-public-route", "ml-public-us-east-1a-routes"} <= set(nat.depends_on)
    routes = made.all("aws:ec2/route:Route")
    assert {one.inputs.get("natGatewayId") for one in routes} == {None, "ml-nat-us-east-1a-id"}
    driver = made.one(ADDON, "ml-aws-ebs-csi-driver").inputs["podIdentityAssociations"]
    assert [one["serviceAccount"] for one in driver] == ["ebs-csi-controller-sa"]


def test_gpu_nodes_have_a_role_that_no_managed_group_of_the_cluster_has(run: Any) -> None:
    made = run(lambda: EksCluster("ml", ARGS))
    group = made.one(aws.NODE_GROUP)
    assert "ml-system-nodes-role" in group.depends_on
    assert "ml-gpu-nodes-role" not in group.depends_on


def test_a_fleet_takes_its_outputs_and_waits(run: Any) -> None:
    pool = {"name": "chat", "instanceTypes": ["g6.xlarge"], "nodes": {"min": 1, "max": 1}}

    def program() -> None:
        account = pulumi.ProviderResource("aws", "account", {"region": "us-east-1"})
        cluster = EksCluster("ml", ARGS, pulumi.ResourceOptions(providers={"aws": account}))
        spec = {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [pool],
        }
        inside = pulumi.ProviderResource("kubernetes", "inside", {"kubeconfig": cluster.kubeconfig})
        GpuFleet(
            "gpus",
            {"spec": spec, "connection": cluster.connection},
            pulumi.ResourceOptions(providers={"aws": account, "kubernetes": inside}),
        )

    made = run(program, {"aws:eks/getNodeGroups:getNodeGroups": {"names": []}})
    pools = [one for one in made.all(aws.NODE_GROUP) if one.name != "ml-system"]
    (group,) = pools
    assert group.inputs["clusterName"] == "ml"
    assert {"ml-vpc-cni", "ml-nat-us-east-1a"} & set(group.depends_on) == {"ml-vpc-cni"}
    assert {"ml-private-us-east-1a-route", "ml-gpu-nodes-AmazonEKS_CNI_Policy"} <= set(
        group.depends_on
    )
    inside = made.one("pulumi:providers:kubernetes")
    assert {"ml-coredns", "ml-system"} <= set(inside.depends_on)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"zones": ["us-east-1a"]}, "needs subnets in at least 2 zones"),
        ({"zones": ["us-east-1a", "us-east-1a"]}, "2 are given, 1 of them different"),
        ({"zones": ["us-east-1a", "us-west-2a"]}, "us-west-2a is no availability zone"),
        ({"zones": ["us-east-1a", "us-east-1-bos-1a"]}, "local and wavelength zones"),
        ({"cidr": "10.0.0.0/24"}, "not a private IPv4 range with a prefix of /16 to /20"),
        ({"cidr": "8.8.0.0/16"}, "8.8.0.0/16 is not a private IPv4 range"),
        ({"public_access_cidrs": ["203.0.113.7"]}, "203.0.113.7 is not an IPv4 address range"),
        ({"cluster_name": "my cluster"}, "clusterName"),
        ({"nat": "two"}, "nat"),
        ({"system_nodes": {"nodes": 0}}, "systemNodes.nodes"),
        ({"tags": {"aws:x": "y"}}, "only AWS may set"),
        ({"log_types": ["everything"]}, "logTypes[0]: the provider refuses"),
        ({"system_nodes": {"ami_type": "AL2029"}}, "systemNodes.amiType: the provider refuses"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    run: Any, changed: dict[str, Any], text: str
) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as refused:
            EksCluster("ml", {**ARGS, **changed})
        assert text in str(refused.value)

    assert run(program).resources == []


@pytest.mark.parametrize("cidr", ["10.0.0.0/16", "172.20.16.0/20", "192.168.0.0/18"])
@pytest.mark.parametrize("count", [2, 6])
def test_subnets_lie_in_the_network_and_apart(cidr: str, count: int) -> None:
    zones = [f"us-east-1{letter}" for letter in "abcdef"[:count]]
    found = zone_networks(cidr, zones)
    ranges = [ip_network(one) for zone in found.values() for one in (zone.private, zone.public)]
    assert len(ranges) == 2 * count
    assert all(one.subnet_of(ip_network(cidr)) for one in ranges)  # type: ignore[arg-type]
    assert not any(a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :])
    assert all(one.prefixlen <= 28 for one in ranges)  # EC2 makes none smaller


def test_the_kubeconfig_holds_no_secret() -> None:
    found = json.loads(eks_kubeconfig_text("ml", "https://ml.example", "Q0E=", region="us-east-1"))
    (user,) = found["users"]
    assert list(user["user"]) == ["exec"]
    assert user["user"]["exec"]["command"] == "aws"
