"""The GPU Operator's driver on nodes whose image brings one.

Amazon Linux 2023 for NVIDIA has driver and toolkit, and no driver container of the operator exists
for it (AWS EKS user guide, ml-eks-optimized-ami): the operator needs `driver.enabled: false`.
"""

import pytest

from tests.policies.test_check_front import checked

GROUP = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: ml, region: us-east-1}
managedNodeGroups:
- {name: gpu, amiFamily: AmazonLinux2023, instanceType: g6.xlarge, minSize: 0, maxSize: 2}
"""
KARPENTER = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ml}
spec:
  amiSelectorTerms: [{alias: al2023@v20261101}]
  role: nodes
  subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]
  securityGroupSelectorTerms: [{id: sg-0123456789abcdef0}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: ml}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]}
"""
RELEASE = """\
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu-operator, namespace: gpu-operator}
spec:
  interval: 10m
  chart:
    spec: {chart: gpu-operator, version: v26.7.0, sourceRef: {kind: HelmRepository, name: nvidia}}
  values: {toolkit: {enabled: false}}
"""
CODE = "gpu-operator-driver-in-image"


def codes(text: str) -> set[str]:
    return {one.code for one in checked(text).findings}


@pytest.mark.parametrize("nodes", [GROUP, KARPENTER], ids=["managed node group", "Karpenter"])
def test_the_driver_of_the_operator_is_found(nodes: str) -> None:
    (found,) = (one for one in checked(nodes + RELEASE).findings if one.code == CODE)
    assert "nodes of this text run al2023-nvidia, which contains the driver" in found.message
    assert "driver: {enabled: false}" in (found.fix or "")


@pytest.mark.parametrize("nodes", [GROUP, KARPENTER], ids=["managed node group", "Karpenter"])
def test_an_operator_without_driver_is_fine(nodes: str) -> None:
    assert CODE not in codes(nodes + RELEASE.replace("toolkit: {", "driver: {"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("instanceType: g6.xlarge", "instanceType: m7i.xlarge"),
        ("name: gpu, ami", "name: gpu, labels: {nvidia.com/gpu.deploy.driver: 'false'}, ami"),
        ("amiFamily: AmazonLinux2023", "amiFamily: Ubuntu2404"),
    ],
    ids=["no GPU", "label", "another image"],
)
def test_nodes_that_the_driver_does_not_reach(old: str, new: str) -> None:
    assert old in GROUP
    assert CODE not in codes(GROUP.replace(old, new) + RELEASE)
