"""Public reports about pools: the findings of each, and of its correct neighbours."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.pools import CPU_GROUP, SMALL, karpenter, node_group
from tests.policies.cases.workloads import LIMITS, REQUESTS, deployment
from tests.policies.objects import REMOVE
from tests.policies.test_pool_traps import said


def test_one_pool_for_machines_with_gpus_and_machines_without():
    """aws/karpenter-provider-aws#5798: pods without GPUs keep the nodes with GPUs."""

    def pool(key: str, values: list[str], **more: Any) -> Thing:
        required = [{"key": key, "operator": "In", "values": values}]
        return karpenter(
            {
                "spec.template.spec.requirements": [*required, *more.pop("also", ())],
                "spec.template.spec.taints": REMOVE,
                **more,
            }
        )

    rule = "gpu-pool-untainted"
    types, category = "node.kubernetes.io/instance-type", "karpenter.k8s.aws/instance-category"
    family = "karpenter.k8s.aws/instance-family"
    for key, values in (
        (types, ["m6i.xlarge", "g5.xlarge"]),
        (category, ["c", "m", "g"]),
        (family, ["m7i", "g6"]),
    ):
        assert said(pool(key, values))[rule] is Level.ADVISORY
        tainted = {"spec.template.spec.taints": [{"key": "gpu", "effect": "NoSchedule"}]}
        assert rule not in said(pool(key, values, **tainted))
    assert rule not in said(pool(family, ["m7i", "c7i"]))
    without = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"}
    assert rule not in said(pool(category, ["c", "m", "g"], also=[without]))


def test_amazon_linux_2_has_no_image_after_1_32():
    """awslabs/amazon-eks-ami#2545."""
    rule, image = "pool-image-refused", {"amiType": "AL2_x86_64_GPU"}
    assert said(node_group({**image, "version": "1.33"}))[rule] is Level.MANDATORY
    assert rule not in said(node_group({**image, "version": "1.32"}))
    assert rule not in said(node_group(image))
    assert rule not in said(node_group({"amiType": "AL2023_x86_64_NVIDIA", "version": "1.33"}))
    group = {"name": "gpu", "instanceType": "g6.xlarge", "amiFamily": "AmazonLinux2"}
    config = {
        "apiVersion": "eksctl.io/v1alpha5",
        "kind": "ClusterConfig",
        "metadata": {"name": "ml", "region": "us-west-2", "version": "1.33"},
        "managedNodeGroups": [group],
    }
    assert said(manifest(config))[rule] is Level.MANDATORY
    assert rule not in said(manifest({**config, "metadata": {"name": "ml", "version": "1.32"}}))


def test_pods_that_no_declared_pool_takes():
    """NVIDIA/k8s-device-plugin#421: they stay Pending, and name no pool."""
    rule, taint = "gpu-pods-not-tolerated", {"key": "team-a", "value": "x", "effect": "NO_SCHEDULE"}
    pods = deployment({LIMITS: {"nvidia.com/gpu": 1}, REQUESTS: SMALL})
    tainted = node_group({"taints": [taint]})
    assert said(pods, tainted)[rule] is Level.ADVISORY
    assert rule not in said(pods, tainted, node_group(name="open"))
    # Kubernetes' own taint of GPUs: the cluster may add the toleration.
    assert rule not in said(pods, node_group())
    assert rule not in said(pods, CPU_GROUP)


def test_an_image_of_the_group_and_one_of_its_template():
    """pulumi/pulumi-eks#1463: "You cannot specify an AMI Type other than CUSTOM, when specifying an
    image id in your launch template"."""
    rule = "pool-image-refused"

    def template(**image: str) -> Thing:
        return Thing("aws:ec2/launchTemplate:LaunchTemplate", {"name": "lt", **image}, "lt")

    own = template(imageId="ami-0123456789abcdef0")

    def group(image: str) -> Thing:
        return node_group({"amiType": image, "launchTemplate": {"name": "lt", "version": "1"}})

    assert said(group("AL2023_x86_64_NVIDIA"), own)[rule] is Level.MANDATORY
    assert rule not in said(group("CUSTOM"), own)
    assert rule not in said(group("AL2023_x86_64_NVIDIA"), template())
    assert rule not in said(node_group({"amiType": "AL2023_x86_64_NVIDIA"}), own)


def test_one_node_group_of_two_architectures():
    """aws/aws-cdk#12389."""
    rule = "pool-image-refused"
    assert said(node_group({"instanceTypes": ["g5g.xlarge", "g5.xlarge"]}))[rule] is Level.MANDATORY
    assert rule not in said(node_group({"instanceTypes": ["g5.xlarge", "g5.2xlarge"]}))
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "In"}
    both = [{**requirement, "values": ["g5g.xlarge", "g5.xlarge"]}]
    assert rule not in said(karpenter({"spec.template.spec.requirements": both}))
