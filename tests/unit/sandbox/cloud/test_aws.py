"""The AWS account: requests validated by the API's models, run by moto, kept in a journal."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox.cloud.aws.account import close
from gpufleet_sandbox.cloud.aws.admission import admit_node_group, admit_template
from gpufleet_sandbox.cloud.aws.model import request
from gpufleet_sandbox.cloud.cloud import CloudError
from gpufleet_sandbox.cloud.service import StandInProvider
from tests.clouds import Clouds
from tests.unit.sandbox.cloud.provider_calls import Caller, RefusedError

ROOT = Path(__file__).parents[4]
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TRUST = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", '
    '"Principal": {"Service": "pods.eks.amazonaws.com"}}]}'
)


@pytest.fixture(scope="module")
def cluster(clouds: Clouds) -> dict[str, Any]:
    return clouds.eks_cluster("ml")


def group(cluster: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "clusterName": "ml",
        "nodeRoleArn": cluster["nodeRoleArn"],
        "subnetIds": list(cluster["subnetIdsByZone"].values()),
        "instanceTypes": ["g6.2xlarge"],
        "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0},
        **changed,
    }


def test_a_journal_played_again_gives_the_same_ids(tmp_path: Path) -> None:
    first = Clouds(tmp_path).eks_cluster("again")
    close()
    again = Clouds(tmp_path)
    found = again.aws_call("ec2", "DescribeSubnets", SubnetIds=[*first["subnetIdsByZone"].values()])
    assert [one["AvailabilityZone"] for one in found["Subnets"]] == ["us-east-1a", "us-east-1b"]
    elsewhere = Clouds(tmp_path / "other")
    assert elsewhere.aws_call("eks", "ListClusters")["clusters"] == []
    assert again.aws_call("eks", "ListClusters")["clusters"] == ["again"]
    close()


def test_a_template_and_a_node_group_live_and_change(
    aws: Caller, clouds: Clouds, cluster: dict[str, Any]
) -> None:
    card = {"deviceIndex": 0, "networkCardIndex": 0, "interfaceType": "interface"}
    inputs = {
        "instanceType": "p5.48xlarge",
        "networkInterfaces": [
            {**card, "securityGroups": [cluster["clusterSecurityGroupId"]]},
            {**card, "deviceIndex": 1, "interfaceType": "efa-only"},
        ],
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1},
        "tagSpecifications": [{"resourceType": "instance", "tags": {"a": "b"}}],
    }
    template, outputs, recorded = aws.create(TEMPLATE, inputs)
    assert template.startswith("lt-")
    (version,) = clouds.aws_call(
        "ec2", "DescribeLaunchTemplateVersions", LaunchTemplateId=template, Versions=["1"]
    )["LaunchTemplateVersions"]
    data = version["LaunchTemplateData"]
    assert data["NetworkInterfaces"][0]["Groups"] == [cluster["clusterSecurityGroupId"]]
    assert data["MetadataOptions"]["HttpTokens"] == "required"
    changed = aws.update(TEMPLATE, template, recorded, {**inputs, "instanceType": "p5e.48xlarge"})
    assert (outputs["latestVersion"], changed["latestVersion"]) == (1, 2)

    given = group(cluster, launchTemplate={"id": template, "version": "2"})
    del given["instanceTypes"]
    identifier, outputs, recorded = aws.create(NODE_GROUP, given, "training")
    name = outputs["nodeGroupName"]
    assert identifier == f"ml:{name}"
    behind = outputs["resources"][0]["autoscalingGroups"][0]["name"]
    tag = {"key": "k", "value": "v", "propagateAtLaunch": False}
    aws.create("aws:autoscaling/tag:Tag", {"autoscalingGroupName": behind, "tag": tag})
    (seen,) = clouds.aws_call(
        "autoscaling", "DescribeAutoScalingGroups", AutoScalingGroupNames=[behind]
    )["AutoScalingGroups"]
    assert [(one["Key"], one["Value"]) for one in seen["Tags"]] == [("k", "v")]
    aws.update(NODE_GROUP, identifier, recorded, {**given, "labels": {"a": "b"}}, "training")
    described = clouds.aws_call("eks", "DescribeNodegroup", clusterName="ml", nodegroupName=name)[
        "nodegroup"
    ]
    assert described["labels"] == {"a": "b"}
    aws.delete(NODE_GROUP, identifier)
    assert clouds.aws_call("eks", "ListNodegroups", clusterName="ml")["nodegroups"] == []


def test_an_update_sends_what_differs_from_the_engines_memory(
    aws: Caller, clouds: Clouds, cluster: dict[str, Any]
) -> None:
    given = group(cluster)
    identifier, outputs, recorded = aws.create(NODE_GROUP, given, "grown")
    named = {"clusterName": "ml", "nodegroupName": outputs["nodeGroupName"]}
    grown = {"minSize": 0, "maxSize": 2, "desiredSize": 2}
    clouds.aws_call("eks", "UpdateNodegroupConfig", **named, scalingConfig=grown)
    aws.update(NODE_GROUP, identifier, recorded, {**given, "labels": {"a": "b"}}, "grown")
    asked = {"clusterName": "ml", "nodeGroupName": named["nodegroupName"]}
    found = aws.invoke("aws:eks/getNodeGroup:getNodeGroup", **asked)[0]
    assert found["scalingConfigs"] == [grown]  # labels changed, and no size was sent
    names = aws.invoke("aws:eks/getNodeGroups:getNodeGroups", clusterName="ml")[0]["names"]
    assert named["nodegroupName"] in names
    larger = {**given, "scalingConfig": {"minSize": 1, "maxSize": 2, "desiredSize": 0}}
    with pytest.raises(RefusedError, match="desired capacity 0 must be between minimum 1"):
        aws.update(NODE_GROUP, identifier, recorded, larger, "grown")
    aws.delete(NODE_GROUP, identifier)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"clusterName": "none"}, "No cluster found for name: none"),
        ({"subnetIds": ["subnet-0"]}, "subnet-0"),
        (
            {"launchTemplate": {"id": "lt-0123456789abcdef0", "version": "1"}},
            "lt-0123456789abcdef0",
        ),
        ({"scalingConfig": {"minSize": 3, "maxSize": 2, "desiredSize": 2}}, "between minimum 3"),
        ({"amiType": "AL2_x86_64_GPU"}, "AL2_x86_64_GPU is not supported for Kubernetes 1.36"),
        ({"labels": {"a": "x" * 64}}, "at most 63 characters"),
    ],
)
def test_the_account_refuses_a_node_group(
    aws: Caller, cluster: dict[str, Any], changed: dict[str, Any], text: str
) -> None:
    with pytest.raises(RefusedError, match=text):
        aws.create(NODE_GROUP, group(cluster, **changed), "refused")


BLOCK = {
    "InstanceType": "p5.48xlarge",
    "InstanceMarketOptions": {"MarketType": "capacity-block"},
    "CapacityReservationSpecification": {
        "CapacityReservationTarget": {"CapacityReservationId": "cr-0123456789abcdef0"}
    },
}


@pytest.mark.parametrize(
    ("given", "template", "text"),
    [
        ({"diskSize": 100}, {}, "disk size must be specified within the launch template"),
        ({"remoteAccess": {"ec2SshKey": "k"}}, {}, "remote access must be specified"),
        ({}, {"NetworkInterfaces": [{"SubnetId": "subnet-1"}]}, "must not specify a subnet"),
        ({}, {"IamInstanceProfile": {"Name": "p"}}, "must not specify an instance profile"),
        ({}, {"HibernationOptions": {"Configured": True}}, "hibernation options"),
        ({}, {"InstanceInitiatedShutdownBehavior": "stop"}, "a shutdown behaviour"),
        ({}, {"InstanceMarketOptions": {"MarketType": "spot"}}, "use capacityType SPOT"),
        ({"instanceTypes": ["g6.xlarge"]}, {"InstanceType": "g6.xlarge"}, "not in both"),
        ({"amiType": "AL2023_x86_64_NVIDIA"}, {"ImageId": "ami-1"}, "amiType must not be"),
        ({"launchTemplate": {"id": "a", "name": "b"}}, {}, "id or its name, not both"),
        ({"capacityType": "CAPACITY_BLOCK"}, None, "market type capacity-block"),
        ({"capacityType": "CAPACITY_BLOCK"}, {**BLOCK, "InstanceType": ""}, "exactly one instance"),
        ({}, BLOCK, "needs capacityType CAPACITY_BLOCK"),
        ({"updateConfig": {"maxUnavailable": 1, "maxUnavailablePercentage": 5}}, None, "not both"),
    ],
)
def test_eks_refuses(given: dict[str, Any], template: dict[str, Any] | None, text: str) -> None:
    with pytest.raises(CloudError, match=text):
        admit_node_group(given, template, "1.36")


def test_eks_accepts_a_capacity_block() -> None:
    admit_node_group({"capacityType": "CAPACITY_BLOCK"}, BLOCK, "1.36")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            {"SecurityGroupIds": ["sg-1"], "NetworkInterfaces": [{"DeviceIndex": 0}]},
            "may not be specified on the same request",
        ),
        (
            {"NetworkInterfaces": [{"AssociatePublicIpAddress": True}, {"DeviceIndex": 1}]},
            "public address",
        ),
        ({"NetworkInterfaces": [{"DeviceIndex": 0}, {"DeviceIndex": 0}]}, "share a network card"),
        ({"NetworkInterfaces": [{"InterfaceType": "efa-only"}]}, "primary network interface"),
    ],
)
def test_ec2_refuses_a_template(data: dict[str, Any], text: str) -> None:
    with pytest.raises(CloudError, match=text):
        admit_template(data)


def test_a_request_is_judged_by_the_model(clouds: Clouds) -> None:
    with pytest.raises(CloudError, match=r"capacityType: 'SPOTT' is none of ON_DEMAND, SPOT"):
        clouds.aws_call(
            "eks",
            "CreateNodegroup",
            clusterName="c",
            nodegroupName="n",
            subnets=[],
            nodeRole="r",
            capacityType="SPOTT",
        )
    with pytest.raises(CloudError, match="no place for colour"):
        request("eks", "CreateNodegroup", {"colour": "red"})


@pytest.mark.parametrize(
    ("token", "inputs", "identifier"),
    [
        ("aws:iam/role:Role", {"assumeRolePolicy": TRUST}, "it-"),
        (
            "aws:iam/policy:Policy",
            {
                "policy": TRUST.replace("Principal", "Resource").replace(
                    '{"Service": "pods.eks.amazonaws.com"}', '"*"'
                )
            },
            "arn:aws:iam::123456789012:policy/it-",
        ),
        (
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            {"role": "ml-nodes", "policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
            "ml-nodes-",
        ),
        ("aws:iam/instanceProfile:InstanceProfile", {"role": "ml-nodes"}, "it-"),
        ("aws:sqs/queue:Queue", {"messageRetentionSeconds": 300}, "https://sqs.us-east-1."),
        ("aws:cloudwatch/eventRule:EventRule", {"eventPattern": '{"source": ["aws.ec2"]}'}, "it-"),
        ("aws:ec2/placementGroup:PlacementGroup", {"strategy": "cluster"}, "it-"),
        ("aws:eks/addon:Addon", {"clusterName": "ml", "addonName": "vpc-cni"}, "ml:vpc-cni"),
        (
            "aws:eks/podIdentityAssociation:PodIdentityAssociation",
            {
                "clusterName": "ml",
                "namespace": "kube-system",
                "serviceAccount": "karpenter",
                "roleArn": "arn:aws:iam::123456789012:role/ml-nodes",
            },
            "a-",
        ),
        (
            "aws:eks/accessEntry:AccessEntry",
            {"clusterName": "ml", "principalArn": "arn:aws:iam::123456789012:role/ml-nodes"},
            "ml:arn:",
        ),
    ],
)
def test_other_kinds_are_made_and_ended(
    aws: Caller, cluster: dict[str, Any], token: str, inputs: dict[str, Any], identifier: str
) -> None:
    made, _, _ = aws.create(token, inputs)
    assert made.startswith(identifier)
    aws.delete(token, made)
    aws.create(token, inputs)


def test_rules_of_a_group_that_points_at_itself(aws: Caller, cluster: dict[str, Any]) -> None:
    everything = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}
    inputs = {"vpcId": cluster["vpcId"], "ingress": [everything], "egress": [everything]}
    identifier, _, _ = aws.create("aws:ec2/securityGroup:SecurityGroup", inputs)
    rule = {
        "securityGroupId": identifier,
        "ipProtocol": "tcp",
        "fromPort": 22,
        "toPort": 22,
        "cidrIpv4": "10.0.0.0/8",
    }
    made, _, _ = aws.create("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", rule)
    assert made.startswith("sgr-")
    with pytest.raises(RefusedError, match=r"InvalidPermission\.Duplicate"):
        aws.create("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", rule, "twice")


def test_the_role_of_a_node_group_has_an_access_entry(aws: Caller, cluster: dict[str, Any]) -> None:
    identifier, _, _ = aws.create(NODE_GROUP, group(cluster, nodeGroupName="of-eks"), "of-eks")
    entry = {"clusterName": "ml", "principalArn": group(cluster)["nodeRoleArn"]}
    with pytest.raises(RefusedError, match="ResourceInUseException"):
        aws.create("aws:eks/accessEntry:AccessEntry", entry, "second")
    aws.delete(NODE_GROUP, identifier)


def test_a_policy_that_is_no_json_is_refused(aws: Caller) -> None:
    with pytest.raises(RefusedError, match="MalformedPolicyDocument"):
        aws.create("aws:iam/policy:Policy", {"policy": "{"}, "broken")


def test_a_managed_policy_that_aws_lacks_is_refused(aws: Caller, cluster: dict[str, Any]) -> None:
    arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodesPolicy"
    with pytest.raises(RefusedError, match="NoSuchEntity"):
        aws.create(
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            {"role": "ml-nodes", "policyArn": arn},
            "misspelt",
        )


def test_the_account_answers_about_itself(aws: Caller, cluster: dict[str, Any]) -> None:
    zone, subnet = next(iter(cluster["subnetIdsByZone"].items()))
    assert aws.invoke("aws:ec2/getSubnet:getSubnet", id=subnet)[0]["availabilityZone"] == zone
    assert aws.invoke("aws:eks/getCluster:getCluster", name="ml")[0]["version"] == "1.36"
    identity = aws.invoke("aws:index/getCallerIdentity:getCallerIdentity")[0]
    assert identity["accountId"] == "123456789012"
    assert aws.invoke("aws:index/getRegion:getRegion")[0]["region"] == "us-east-1"


def test_default_tags_reach_what_has_tags(clouds: Clouds) -> None:
    tagged = Caller(
        StandInProvider(Clouds(clouds.folder.root).aws),
        region="us-east-1",
        defaultTags='{"tags": {"owner": "a", "team": "b"}}',
    )
    _, outputs, _ = tagged.create("aws:sqs/queue:Queue", {"tags": {"team": "c"}}, "tagged")
    assert outputs["tagsAll"] == {"owner": "a", "team": "c"}


TWO_AT_ONCE = """
import sys
from pathlib import Path
from tests.clouds import Clouds

clouds = Clouds(Path(sys.argv[1]))
for index in range(2):
    name = f"{sys.argv[2]}-{index}"
    data = {"InstanceType": "g6.xlarge"}
    clouds.aws_call("ec2", "CreateLaunchTemplate", LaunchTemplateName=name, LaunchTemplateData=data)
"""


@pytest.mark.nightly
def test_two_processes_share_an_account(tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", TWO_AT_ONCE, str(tmp_path), name], cwd=ROOT)
        for name in ("left", "right")
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    made = Clouds(tmp_path).aws_call("ec2", "DescribeLaunchTemplates")["LaunchTemplates"]
    assert len({one["LaunchTemplateId"] for one in made}) == len(made) == 4
    close()
