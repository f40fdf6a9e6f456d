"""A pod's labels of nodes, and what it requests.

Expected verdicts: the MIG tables of NVIDIA's user guide (supported profiles of A100, H100, H200,
A30; none of L4 and T4), the labels of gpu-feature-discovery (NVIDIA/k8s-device-plugin
docs/gpu-feature-discovery/README.md), the well-known labels of Karpenter
(karpenter.sh/docs/reference/instance-types) and of GKE (gke-accelerator, gke-accelerator-count),
and GKE's device plugin (GoogleCloudPlatform/container-engine-accelerators, gpusharing_test.go).
"""

from typing import Any

import pytest
import yaml

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.pools import QUIET
from tests.policies.cases.workloads import LIMITS, deployment

RULE = "gpu-pod-selects-no-node"
PRODUCT, GKE = "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator"
TYPE, NAME = "node.kubernetes.io/instance-type", "karpenter.k8s.aws/instance-gpu-name"
SIZE, WAY = (
    "cloud.google.com/gke-gpu-partition-size",
    "cloud.google.com/gke-gpu-sharing-strategy",
)
COUNT, GKE_COUNT = (
    "karpenter.k8s.aws/instance-gpu-count",
    "cloud.google.com/gke-accelerator-count",
)
GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-"

IMPOSSIBLE = [
    ({PRODUCT: "NVIDIA-H100-80GB-HBM3"}, {f"{SLICE}1g.5gb": 1}),
    ({PRODUCT: "NVIDIA-A100-SXM4-40GB"}, {f"{SLICE}3g.40gb": 1}),
    ({PRODUCT: "NVIDIA-A100-SXM4-80GB"}, {f"{SLICE}3g.20gb": 1}),
    ({PRODUCT: "NVIDIA-H200"}, {f"{SLICE}1g.10gb": 1}),
    ({PRODUCT: "NVIDIA-L4"}, {f"{SLICE}1g.10gb": 1}),
    ({PRODUCT: "Tesla-T4-SHARED"}, {f"{SLICE}1g.5gb": 1}),
    ({PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, {f"{SLICE}1g.5gb": 1}),
    ({GKE: "nvidia-l4"}, {f"{SLICE}1g.5gb": 1}),
    ({GKE: "nvidia-h100-80gb", SIZE: "1g.5gb"}, {GPU: 1}),
    ({GKE: "nvidia-tesla-t4", SIZE: "1g.5gb"}, {GPU: 1}),
    ({GKE: "nvidia-l4", WAY: "time-sharing"}, {GPU: 2}),
    ({TYPE: "g5.xlarge", "kubernetes.io/arch": "arm64"}, {GPU: 1}),
    ({PRODUCT: "NVIDIA-L4", TYPE: "p5.48xlarge"}, {GPU: 1}),
    ({NAME: "a10g", TYPE: "g6.xlarge"}, {GPU: 1}),
    ({TYPE: "p5.48xlarge"}, {f"{SLICE}1g.5gb": 1}),
]
POSSIBLE = [
    ({PRODUCT: "NVIDIA-H100-80GB-HBM3"}, {f"{SLICE}1g.10gb": 1}),
    ({PRODUCT: "NVIDIA-A100-SXM4-40GB"}, {f"{SLICE}1g.5gb.me": 1}),
    ({PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, {GPU: 1}),
    ({PRODUCT: "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"}, {GPU: 1}),
    ({PRODUCT: "NVIDIA-L4-SHARED"}, {"nvidia.com/gpu.shared": 1}),
    ({PRODUCT: "our-own-board"}, {f"{SLICE}1g.5gb": 1}),
    ({NAME: "a100"}, {f"{SLICE}3g.20gb": 1}),
    ({NAME: "a100"}, {f"{SLICE}3g.40gb": 1}),
    ({NAME: "l4", TYPE: "g6.xlarge"}, {GPU: 1}),
    ({GKE: "nvidia-tesla-a100", SIZE: "1g.5gb"}, {GPU: 1}),
    ({GKE: "nvidia-l4", GKE_COUNT: "4"}, {GPU: 4}),
    ({GKE: "nvidia-l4", WAY: "time-sharing"}, {GPU: 1}),
    ({GKE: "nvidia-l4", WAY: "mps"}, {GPU: 2}),
    ({TYPE: "n1-standard-8", GKE: "nvidia-tesla-t4"}, {GPU: 1}),
    ({TYPE: "g5g.xlarge", "kubernetes.io/arch": "arm64"}, {GPU: 1}),
    ({TYPE: "k3s"}, {GPU: 1}),
    ({TYPE: "Standard_NC24ads_A100_v4"}, {GPU: 1}),
    ({COUNT: "8"}, {GPU: 8}),
    ({"nvidia.com/gpu.family": "hopper"}, {f"{SLICE}1g.5gb": 1}),
    ({PRODUCT: "NVIDIA-L4", TYPE: "m5.xlarge"}, {"amd.com/gpu": 1}),
]
DOUBTFUL = [
    ({NAME: "H100"}, "write h100"),
    ({GKE: "nvidia-a100-80gb-tesla"}, "nvidia-a100-80gb"),
    ({TYPE: "g5.100xlarge"}, "g5."),
    ({TYPE: "m5.xlarge"}, "name a machine with GPUs"),
]


def found(labels: dict[str, str], limits: dict[str, int]):
    pods = deployment({"spec.template.spec.nodeSelector": labels, LIMITS: limits})
    return [
        one
        for one in Case(RULE, pods, pods, "", alongside=QUIET).findings(pods)
        if one.code == RULE
    ]


@pytest.mark.parametrize(("labels", "limits"), IMPOSSIBLE)
def test_no_node_has_both(labels: dict[str, str], limits: dict[str, int]) -> None:
    assert [one.level for one in found(labels, limits)] == [Level.MANDATORY]


@pytest.mark.parametrize(("labels", "limits"), POSSIBLE)
def test_a_node_may_have_both(labels: dict[str, str], limits: dict[str, int]) -> None:
    assert not found(labels, limits)


@pytest.mark.parametrize(("labels", "fix"), DOUBTFUL)
def test_names_that_no_row_has_are_doubted(labels: dict[str, str], fix: str) -> None:
    (one,) = found(labels, {GPU: 1})
    assert one.level is Level.ADVISORY
    assert fix in (one.fix or "")


@pytest.mark.parametrize("labels", [{GKE: "nvidia-l4", GKE_COUNT: "4"}, {COUNT: "4"}])
def test_a_count_of_gpus_is_advice_as_they_may_be_shared(labels: dict[str, str]) -> None:
    assert [one.level for one in found(labels, {GPU: 8})] == [Level.ADVISORY]
    assert not found(labels, {GPU: 4})


SHARING = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}


@pytest.mark.parametrize(
    ("product", "sharing", "doubted"),
    [
        ("Tesla-T4", SHARING, True),
        ("Tesla-T4-SHARED", SHARING, False),
        ("Tesla-T4", {"timeSlicing": {**SHARING["timeSlicing"], "renameByDefault": True}}, False),
        ("Tesla-T4", {"timeSlicing": {"resources": [{"name": GPU, "replicas": 1}]}}, False),
    ],
)
def test_products_of_shared_nodes(product: str, sharing: dict[str, Any], doubted: bool) -> None:
    """gpu-feature-discovery's README: `-SHARED` without renameByDefault
    (redhat-na-ssa/hobbyist-guide-to-rhoai#31: Tesla-T4 becomes Tesla-T4-SHARED)."""
    config = manifest(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "sharing", "namespace": "gpu-operator"},
            "data": {"any": yaml.safe_dump({"version": "v1", "sharing": sharing})},
        }
    )
    pods = deployment({"spec.template.spec.nodeSelector": {PRODUCT: product}, LIMITS: {GPU: 1}})
    case = Case(RULE, pods, pods, "", alongside=(*QUIET, config))
    assert any(one.code == RULE for one in case.findings(pods)) is doubted
