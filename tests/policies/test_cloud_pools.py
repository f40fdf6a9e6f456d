"""Node pools of EKS and GKE, and reservations of both clouds, as facts."""

from typing import Any

import pytest

from gpufleet.cluster import Surroundings
from gpufleet.cluster.capacity import LaunchTemplate, Reservation
from gpufleet.cluster.cluster import MetricsSource
from gpufleet.cluster.fact import UNKNOWN
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet_policies.readers.pulumi_props import facts_from_pulumi
from gpufleet_policies.rules.pools import completed
from tests.policies.cases.pools import GKE_POOL, NODE_GROUP
from tests.policies.objects import REMOVE, changed

EKS = "aws:eks/nodeGroup:NodeGroup"


GKE = "gcp:container/nodePool:NodePool"


def pool(kind: str, document: dict[str, Any], changes: dict[str, Any] | None = None) -> NodePool:
    found = facts_from_pulumi(kind, changed(document, changes or {}), "p", "urn:p")
    assert isinstance(found[0], NodePool)
    return found[0]


def test_an_eks_node_group():
    found = pool(EKS, NODE_GROUP)
    assert (found.maker, found.gpu.value, found.gpus_per_node.value) == (Maker.EKS, "L4", 1)
    assert (found.size.minimum.value, found.size.maximum.value) == (0, 4)
    assert found.capacity.value == {"onDemand"}
    assert found.taints.value[0].repels
    assert found.repair.value
    assert found.warm_nodes.is_absent


@pytest.mark.parametrize(
    ("changes", "carries"),
    [
        ({"instanceTypes": ["m7i.large"]}, False),
        ({"instanceTypes": ["m7i.large", "g6.xlarge"]}, None),
        ({"instanceTypes": ["p9.48xlarge"]}, True),  # newer than the catalogue
        ({"instanceTypes": ["inf2.xlarge"]}, False),  # not NVIDIA's
        ({"instanceTypes": REMOVE}, False),  # EKS makes t3.medium of it
        ({"instanceTypes": REMOVE, "launchTemplate": {"id": "lt-1"}}, None),
        (
            {
                "instanceTypes": REMOVE,
                "launchTemplate": {"id": "lt-1"},
                "amiType": "AL2023_x86_64_NVIDIA",
            },
            True,
        ),
        ({"instanceTypes": UNKNOWN}, None),
    ],
)
def test_whether_a_node_group_carries_gpus(changes: dict[str, Any], carries: bool | None):
    found = pool(EKS, NODE_GROUP, changes).is_gpu_pool
    assert (found.value if found.is_known else None) is carries


def test_a_launch_template_completes_its_pool():
    group = pool(EKS, NODE_GROUP, {"instanceTypes": REMOVE, "launchTemplate": {"name": "lt"}})
    template = facts_from_pulumi(
        "aws:ec2/launchTemplate:LaunchTemplate",
        {
            "name": "lt",
            "instanceType": "p5.48xlarge",
            "networkInterfaces": [{"interfaceType": "efa"}],
            "instanceMarketOptions": {"marketType": "capacity-block"},
            "capacityReservationSpecification": {
                "capacityReservationTarget": {"capacityReservationId": "cr-1"}
            },
        },
        "lt",
        "urn:lt",
    )[0]
    assert isinstance(template, LaunchTemplate)
    whole = completed(group, Surroundings((group, template)))
    assert (whole.gpu.value, whole.gpus_per_node.value) == ("H100-80GB", 8)
    assert whole.capacity.value == {"capacityBlock"}
    assert whole.reservations == ("cr-1",)
    assert whole.is_committed
    assert whole.fabric.value == "efa"


def test_an_auto_scaling_group_with_a_mixed_policy():
    found = pool(
        "aws:autoscaling/group:Group",
        {
            "minSize": 0,
            "maxSize": 10,
            "tags": [
                {"key": "k8s.io/cluster-autoscaler/enabled", "value": "true"},
                {
                    "key": "k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu",
                    "value": "present:NoSchedule",
                },
            ],
            "mixedInstancesPolicy": {
                "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0},
                "launchTemplate": {
                    "launchTemplateSpecification": {"launchTemplateName": "lt"},
                    "overrides": [{"instanceType": "g6.xlarge"}, {"instanceType": "g6.2xlarge"}],
                },
            },
        },
    )
    assert found.capacity.value == {"spot"}
    assert found.instance_types.value == ("g6.xlarge", "g6.2xlarge")
    assert found.taints.value[0].key == "nvidia.com/gpu"
    assert found.autoscaled_by.is_known


def test_gke_counts_nodes_of_all_zones():
    assert pool(GKE, GKE_POOL).size.maximum.value == 4
    zones = {"location": "us-central1", "nodeLocations": ["us-central1-a", "us-central1-b"]}
    assert pool(GKE, GKE_POOL, zones).size.maximum.value == 8
    assert pool(GKE, GKE_POOL, {"location": "us-central1"}).size.maximum.value == 12
    total = {"location": "us-central1", "autoscaling": {"totalMaxNodeCount": 5}}
    assert pool(GKE, GKE_POOL, total).size.maximum.value == 5
    hidden = pool(GKE, GKE_POOL, {"location": UNKNOWN})
    assert hidden.size.maximum.is_unknown
    assert hidden.size.minimum.value == 0


@pytest.mark.parametrize(
    ("changes", "ways"),
    [
        ({"nodeConfig.spot": True}, {"spot"}),
        ({"nodeConfig.preemptible": True}, {"spot"}),
        ({"nodeConfig.flexStart": True}, {"flexStart"}),
        ({"queuedProvisioning": {"enabled": True}}, {"queued"}),
        (
            {
                "nodeConfig.reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "values": ["r"],
                }
            },
            {"reserved"},
        ),
    ],
)
def test_how_gke_buys(changes: dict[str, Any], ways: set[str]):
    assert pool(GKE, GKE_POOL, changes).capacity.value == ways


def test_an_n1_machine_gets_its_gpu_from_the_accelerator():
    attached = {
        "nodeConfig.machineType": "n1-standard-8",
        "nodeConfig.guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 2}],
    }
    found = pool(GKE, GKE_POOL, attached)
    assert (found.gpu.value, found.gpus_per_node.value) == ("T4", 2)


def test_a_gke_cluster_gives_its_inline_pools_and_its_metrics():
    found = facts_from_pulumi(
        "gcp:container/cluster:Cluster",
        {
            "location": "us-central1-a",
            "nodePools": [
                GKE_POOL,
                {"name": "cpu", "nodeConfig": {"machineType": "e2-standard-4"}},
            ],
            "monitoringConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "DCGM"]},
        },
        "ml",
        "urn:ml",
    )
    pools = [fact for fact in found if isinstance(fact, NodePool)]
    assert [(p.name, p.is_certainly_gpu) for p in pools] == [("gpu", True), ("cpu", False)]
    assert any(isinstance(fact, MetricsSource) for fact in found)


def test_reservations_of_both_clouds():
    (block,) = facts_from_pulumi(
        "aws:ec2/capacityReservation:CapacityReservation",
        {"instanceType": "p5.48xlarge", "instanceCount": 2, "id": "cr-1"},
        "r",
        "urn:r",
    )
    assert isinstance(block, Reservation)
    assert block.gpus_per_node.value == 8
    google = facts_from_pulumi(
        "gcp:compute/reservation:Reservation",
        {
            "zone": "us-central1-a",
            "specificReservation": {
                "count": 3,
                "instanceProperties": {"machineType": "a3-highgpu-8g"},
            },
        },
        "r",
        "urn:r",
    )
    assert google[0].count.value == 3
    assert google[0].gpu.value == "H100-80GB"
