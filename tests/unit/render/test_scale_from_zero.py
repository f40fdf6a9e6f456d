"""An autoscaler's model of a node that does not exist equals the node's later advertisement.

Each program's own model is restated here from its source and documentation, independently of the
rendered files: it takes GPUs from EC2, and our artefact changes that. Cluster Autoscaler:
`cloudprovider/aws/aws_manager.go`, `buildNodeFromTemplate`: vCPUs, memory and GPUs of the type,
then each resources tag in their place.
"""

from typing import Any

import pytest
from kubernetes.utils.quantity import parse_quantity

from gpufleet.findings import Severity
from gpufleet.fleet.model import Pool
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.autoscaler_tags import autoscaler_tags
from gpufleet.platforms.eks.cluster_autoscaler_values import cluster_autoscaler_values
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import limits, node_overlay, node_pool
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.spec.addons import ClusterAutoscaler
from tests.unit.render.fleets import one

RESOURCE_TAG = "k8s.io/cluster-autoscaler/node-template/resources/"
GPU = "nvidia.com/gpu"
EFA = "vpc.amazonaws.com/efa"
SLICES = {"layouts": [{"gpus": 4, "devices": {"1g.10gb": 7}}, {"gpus": 2, "devices": {}}]}
FULL = {"layouts": [{"devices": {"3g.40gb": 2}}]}

VARIANTS: dict[str, dict[str, Any]] = {
    "exclusive": {"gpu": "L4"},
    "exclusive on eight": {"instanceTypes": ["p5.48xlarge"]},
    "time slicing": {"gpu": "L4", "sharing": {"timeSlicing": {"replicas": 4}}},
    "time slicing under its own name": {
        "gpu": "L4",
        "sharing": {"timeSlicing": {"replicas": 4, "rename": False}},
    },
    "mps": {"gpu": "L4", "sharing": {"mps": {"replicas": 6}}},
    "mps under its own name": {"gpu": "L4", "sharing": {"mps": {"replicas": 6, "rename": False}}},
    "slices next to whole GPUs": {"instanceTypes": ["p4de.24xlarge"], "sharing": {"mig": SLICES}},
    "slices only": {"instanceTypes": ["p4de.24xlarge"], "sharing": {"mig": FULL}},
    "slices called GPUs": {
        "instanceTypes": ["p4de.24xlarge"],
        "sharing": {"mig": {"strategy": "single", **FULL}},
    },
    "shared slices": {
        "instanceTypes": ["p4de.24xlarge"],
        "sharing": {"mig": {**FULL, "timeSlicing": {"replicas": 2}}},
    },
    "a part of a GPU": {"instanceTypes": ["g6f.large"]},
    "a shared part of a GPU": {
        "instanceTypes": ["g6f.4xlarge"],
        "sharing": {"timeSlicing": {"replicas": 2}},
    },
    "EFA": {
        "instanceTypes": ["p5.48xlarge"],
        "fabric": "efa",
        "intent": "training",
        "zones": ["us-east-1a"],
    },
}


def counted_by_ec2(pool: Pool) -> dict[str, int]:
    """GPUs of the type as DescribeInstanceTypes counts them; nothing where that is 0."""
    instance = pool.machines[0].instance
    assert instance is not None
    count = instance.accelerator.api_count or 0
    return {GPU: count} if count else {}


def cluster_autoscaler(pool: Pool) -> dict[str, int]:
    """A template node: GPUs of the type, then each resources tag in their place."""
    believed = counted_by_ec2(pool)
    for key, value in (autoscaler_tags(pool) or {}).items():
        if key.startswith(RESOURCE_TAG) and not key.endswith("ephemeral-storage"):
            believed[key.removeprefix(RESOURCE_TAG)] = int(parse_quantity(value))
    return {name: amount for name, amount in believed.items() if amount}


def karpenter(pool: Pool) -> dict[str, int]:
    """GPUs of the type; EFA by the listed interfaces; the overlay's capacity over both. Huge pages
    are in no type (aws/karpenter-provider-aws#3315)."""
    believed = counted_by_ec2(pool)
    listed = node_class(pool, eks_shape(pool), "p", {}, "n")["spec"].get("networkInterfaces", [])
    efa = sum(one["interfaceType"] == "efa-only" for one in listed)
    believed |= {EFA: efa} if efa else {}
    overlay = node_overlay(pool)
    if overlay is not None:
        capacity = overlay["spec"]["capacity"]
        believed |= {name: int(parse_quantity(amount)) for name, amount in capacity.items()}
    return {name: amount for name, amount in believed.items() if amount}


def advertised(pool: Pool) -> dict[str, int]:
    """Resources of future nodes: the partition's resources, one for each EFA, and the 5128 huge
    pages that its driver reserves (Amazon EKS user guide, node-efa)."""
    found = dict(pool.advertised)
    interfaces = [one for one in eks_shape(pool).interfaces if one.kind == "efa-only"]
    efa = {EFA: len(interfaces), "hugepages-2Mi": 5128 * 2 * 1024**2}
    return {**found, **efa} if interfaces else found


@pytest.mark.parametrize("variant", VARIANTS)
def test_cluster_autoscaler_believes_what_will_be(variant: str) -> None:
    pool = one(**VARIANTS[variant], provisioner="clusterAutoscaler")
    assert cluster_autoscaler(pool) == advertised(pool)


@pytest.mark.parametrize("variant", VARIANTS)
def test_karpenter_believes_what_will_be(variant: str) -> None:
    pool = one(**VARIANTS[variant], provisioner="karpenter")
    assert karpenter(pool) == advertised(pool)


ACCELERATOR = "k8s.io/cluster-autoscaler/node-template/label/k8s.amazonaws.com/accelerator"


@pytest.mark.parametrize("variant", VARIANTS)
def test_cluster_autoscaler_waits_for_what_nodes_will_advertise_and_for_nothing_else(
    variant: str,
) -> None:
    # gpu_processor.go: a node with the label is unready until it has nvidia.com/gpu above 0.
    pool = one(**VARIANTS[variant], provisioner="clusterAutoscaler")
    tags = autoscaler_tags(pool) or {}
    whole = advertised(pool).get(GPU, 0) > 0
    assert (ACCELERATOR in tags) is whole
    # utilization/info.go: without the label only CPU and memory decide whether a node is used.
    options = "k8s.io/cluster-autoscaler/node-template/autoscaling-options/"
    assert (f"{options}scaledownutilizationthreshold" in tags) is not whole


def claims(provisioner: str, least: int) -> list[str]:
    """Codes of the errors in a pool whose GPUs are claimed."""
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [
                {
                    "name": "claimed",
                    "gpu": "L4",
                    "nodes": {"min": least, "max": 2},
                    "sharing": {"dra": {}},
                    "provisioner": provisioner,
                }
            ],
        }
    )
    return [f.code for f in result.findings if f.severity is Severity.ERROR]


def test_claims_are_refused_where_an_autoscaler_does_not_know_the_devices() -> None:
    # Karpenter ignores pods with claims, at any size. For an empty group on AWS Cluster Autoscaler
    # has no ResourceSlices; of one with a node it copies that node's.
    assert claims("karpenter", 0) == ["dra-with-karpenter"]
    assert claims("karpenter", 1) == ["dra-with-karpenter"]
    # From 1.15 on it has whole GPUs (aws/karpenter-provider-aws v1.15.2 pkg/providers/nvidiadra).
    assert claims("clusterAutoscaler", 0) == ["dra-scale-from-zero"]
    assert claims("clusterAutoscaler", 1) == []
    assert claims("managed", 0) == []


def test_a_node_with_claims_is_no_gpu_node_to_cluster_autoscaler() -> None:
    pool = one(
        gpu="L4",
        nodes={"min": 1, "max": 2},
        sharing={"dra": {}},
        provisioner="clusterAutoscaler",
    )
    assert cluster_autoscaler(pool) == advertised(pool) == {}
    tags = autoscaler_tags(pool) or {}
    assert tags[f"{RESOURCE_TAG}{GPU}"] == "0"  # pods that request one would never run there
    assert ACCELERATOR not in tags  # with it the node would stay unready
    values = cluster_autoscaler_values(
        ClusterAutoscaler(), [pool], "ml", "us-east-1", "1.35", provisioning_requests=False
    )
    assert values["extraArgs"]["enable-dynamic-resource-allocation"] is True


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_scales_from_zero_is_born_with_the_labels_that_pods_select(variant: str) -> None:
    pool = one(**VARIANTS[variant], provisioner="karpenter")
    template = node_pool(pool, eks_shape(pool))["spec"]["template"]
    assert pool.labels.items() <= template["metadata"]["labels"].items()
    scaled = one(**VARIANTS[variant], provisioner="clusterAutoscaler")
    tags = autoscaler_tags(scaled) or {}
    prefix = "k8s.io/cluster-autoscaler/node-template/"
    assert {f"{prefix}label/{key}" for key in scaled.labels} <= set(tags)
    assert tags[f"{prefix}taint/nvidia.com/gpu"] == "present:NoSchedule"


@pytest.mark.parametrize("variant", VARIANTS)
def test_limits_admit_the_largest_size_and_no_more(variant: str) -> None:
    pool = one(**VARIANTS[variant], provisioner="karpenter")
    bounds = limits(pool)
    assert bounds["nodes"] == str(pool.nodes.maximum)
    for name, amount in pool.advertised.items():
        assert int(bounds[name]) >= amount * pool.nodes.maximum
        if name != GPU:
            assert int(bounds[name]) == amount * pool.nodes.maximum


def test_local_disks_are_the_ephemeral_storage_where_they_are_joined() -> None:
    key = f"{RESOURCE_TAG}ephemeral-storage"
    joined = autoscaler_tags(one(instanceTypes=["p4d.24xlarge"], provisioner="clusterAutoscaler"))
    assert joined is not None
    assert int(joined[key].removesuffix("Gi")) > 6000
    alone = autoscaler_tags(
        one(
            instanceTypes=["p4d.24xlarge"],
            provisioner="clusterAutoscaler",
            eks={"localStorage": "none"},
            disk={"sizeGib": 300},
        )
    )
    assert alone is not None
    assert alone[key] == "264Gi"
