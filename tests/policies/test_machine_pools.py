"""Pools of Karpenter, the Cluster API, OpenShift and vSphere as facts."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import Surroundings
from gpufleet.cluster.fact import UNKNOWN
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.rules.pools import completed
from tests.policies.cases.pools import KARPENTER
from tests.policies.objects import REMOVE, changed
from tests.policies.test_cloud_pools import pool


def manifest(document: dict[str, Any], changes: dict[str, Any] | None = None) -> Any:
    return facts_of_document(changed(document, changes or {}), "file.yaml", line=3)[0]


REQUIREMENTS = "spec.template.spec.requirements"


AWS_KEY = "karpenter.k8s.aws/instance-"


@pytest.mark.parametrize(
    ("requirement", "gpu", "types"),
    [
        ({"key": f"{AWS_KEY}family", "operator": "In", "values": ["g6"]}, "L4", 8),
        ({"key": f"{AWS_KEY}gpu-name", "operator": "In", "values": ["h200"]}, "H200-141GB", 2),
        ({"key": f"{AWS_KEY}category", "operator": "In", "values": ["g", "p"]}, None, None),
        ({"key": f"{AWS_KEY}gpu-manufacturer", "operator": "In", "values": ["nvidia"]}, None, None),
        ({"key": f"{AWS_KEY}gpu-count", "operator": "Gt", "values": ["0"]}, None, None),
    ],
)
def test_karpenter_requirements_as_machines(
    requirement: dict[str, Any], gpu: str | None, types: int | None
):
    found = manifest(KARPENTER, {f"{REQUIREMENTS}[0]": requirement})
    assert found.is_certainly_gpu
    if gpu is not None:
        assert found.gpu.value == gpu
        assert len(found.instance_types.value) == types
    assert all(load().instance(name).cloud == "aws" for name in found.instance_types.value)


@pytest.mark.parametrize(
    ("requirement", "carries"),
    [
        ({"key": f"{AWS_KEY}category", "operator": "In", "values": ["m", "c"]}, False),
        ({"key": f"{AWS_KEY}category", "operator": "In", "values": ["m", "g"]}, None),
        ({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}, None),
        ({"key": f"{AWS_KEY}gpu-count", "operator": "DoesNotExist"}, False),
        ({"key": f"{AWS_KEY}family", "operator": "In", "values": UNKNOWN}, None),
    ],
)
def test_karpenter_pools_that_may_have_no_gpu(requirement: dict[str, Any], carries: bool | None):
    found = manifest(KARPENTER, {f"{REQUIREMENTS}[0]": requirement}).is_gpu_pool
    assert (found.value if found.is_known else None) is carries


def test_karpenter_defaults_are_applied():
    found = manifest(KARPENTER, {"spec.disruption": REMOVE, f"{REQUIREMENTS}[1]": REMOVE})
    assert found.karpenter.policy.value == "WhenEmptyOrUnderutilized"
    assert found.karpenter.consolidate_after_seconds.value == 0
    assert found.karpenter.expire_after.value == "720h"
    assert not found.karpenter.expiry_written
    assert found.capacity.value == {"onDemand"}
    assert str(found.locator) == "NodePool gpu"
    assert found.locator.line == 3


CAPI_PREFIX = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"


CAPACITY_PREFIX = "capacity.cluster-autoscaler.kubernetes.io"


def _machine_deployment(annotations: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineDeployment",
        "metadata": {"name": "gpu", "annotations": annotations},
        "spec": {
            "clusterName": "ml",
            **spec,
            "template": {"spec": {"infrastructureRef": {"name": "gpu"}}},
        },
    }


def test_cluster_api_reads_the_autoscalers_annotations():
    found = manifest(
        _machine_deployment(
            {
                f"{CAPI_PREFIX}-min-size": "0",
                f"{CAPI_PREFIX}-max-size": "3",
                f"{CAPACITY_PREFIX}/gpu-type": "nvidia.com/gpu",
                f"{CAPACITY_PREFIX}/gpu-count": "4",
                f"{CAPACITY_PREFIX}/taints": "nvidia.com/gpu=present:NoSchedule",
                f"{CAPACITY_PREFIX}/labels": "pool=gpu",
            }
        )
    )
    assert (found.size.minimum.value, found.size.maximum.value) == (0, 3)
    assert found.is_certainly_gpu
    assert found.gpus_per_node.value == 4
    assert found.taints.value[0].key == "nvidia.com/gpu"
    assert found.labels == {"pool": "gpu"}


def test_cluster_api_without_an_autoscaler_has_a_fixed_size():
    found = manifest(_machine_deployment({}, replicas=3))
    assert found.size.fixed
    assert found.size.standing.value == 3
    template = manifest(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "AWSMachineTemplate",
            "metadata": {"name": "gpu"},
            "spec": {"template": {"spec": {"instanceType": "g6.xlarge", "spotMarketOptions": {}}}},
        }
    )
    whole = completed(found, Surroundings((found, template)))
    assert whole.gpu.value == "L4"
    assert whole.capacity.value == {"spot"}


def test_vsphere_templates_tell_the_card_of_a_vgpu():
    found = manifest(_machine_deployment({}, replicas=1))
    template = manifest(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "VSphereMachineTemplate",
            "metadata": {"name": "gpu"},
            "spec": {"template": {"spec": {"pciDevices": [{"vGPUProfile": "grid_a100d-40c"}]}}},
        }
    )
    whole = completed(found, Surroundings((found, template)))
    assert whole.gpu.value == "A100-80GB"
    assert whole.vgpu_profile.value == "grid_a100d-40c"
    assert whole.capacity.value == {"onPrem"}
    assert whole.is_committed


def test_openshift_machine_sets_and_their_autoscaler():
    machine_set = manifest(
        {
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": "gpu", "namespace": "openshift-machine-api"},
            "spec": {
                "replicas": 1,
                "template": {
                    "spec": {
                        "providerSpec": {
                            "value": {
                                "kind": "AWSMachineProviderConfig",
                                "instanceType": "g6.xlarge",
                                "placement": {"availabilityZone": "us-east-1a"},
                                "tags": [{"name": "owner", "value": "ml"}],
                            }
                        }
                    }
                },
            },
        }
    )
    assert machine_set.size.fixed
    assert machine_set.gpu.value == "L4"
    assert machine_set.zones.value == ("us-east-1a",)
    assert machine_set.tags["owner"] == "ml"
    scaler = manifest(
        {
            "apiVersion": "autoscaling.openshift.io/v1beta1",
            "kind": "MachineAutoscaler",
            "metadata": {"name": "gpu"},
            "spec": {
                "minReplicas": 0,
                "maxReplicas": 6,
                "scaleTargetRef": {"kind": "MachineSet", "name": "gpu"},
            },
        }
    )
    whole = completed(machine_set, Surroundings((machine_set, scaler)))
    assert not whole.size.fixed
    assert whole.size.maximum.value == 6


@pytest.mark.parametrize(
    ("machine", "gpu", "bought"),
    [
        ({"machineType": "a2-highgpu-1g", "provisioningModel": "Spot"}, "A100-40GB", "spot"),
        ({"machineType": "a2-highgpu-1g", "preemptible": True}, "A100-40GB", "spot"),
        ({"machineType": "g2-standard-8"}, "L4", "onDemand"),
        ({"instanceType": "g6.xlarge", "marketType": "Spot"}, "L4", "spot"),
        ({"instanceType": "g6.xlarge", "marketType": "OnDemand"}, "L4", "onDemand"),
    ],
)
def test_machine_sets_on_clouds(machine: dict[str, Any], gpu: str, bought: str):
    found = manifest(
        {
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": "gpu"},
            "spec": {"template": {"spec": {"providerSpec": {"value": machine}}}},
        }
    )
    assert found.gpu.value == gpu
    assert found.capacity.value == {bought}


@pytest.mark.parametrize(
    ("attachment", "gpu", "count"),
    [
        ({"mode": "vgpu", "profile": "grid_a100d-40c", "count": 1}, "A100-80GB", 1),
        ({"mode": "dynamic", "deviceIds": ["27b8"], "count": 2}, "L4", 2),
        ({"mode": "fixed", "pciAddresses": ["0000:3b:00.0"]}, None, 1),
    ],
)
def test_machines_on_vsphere(attachment: dict[str, Any], gpu: str | None, count: int):
    found = pool("pulumi-python:dynamic/gpufleet:VsphereGpuNode", {"gpu": attachment, "cpus": 8})
    assert found.is_certainly_gpu
    assert found.is_committed
    assert found.gpu.found == gpu
    assert found.gpus_per_node.value == count


MANAGED: dict[str, Any] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "AWSManagedMachinePool",
    "metadata": {"name": "gpu"},
    "spec": {
        "instanceType": "g6.xlarge",
        "capacityType": "spot",
        "scaling": {"minSize": 0, "maxSize": 4},
    },
}


@pytest.mark.parametrize(
    ("changes", "gpu", "capacity", "most"),
    [
        ({}, "L4", {"spot"}, 4),
        ({"spec.capacityType": REMOVE}, "L4", {"onDemand"}, 4),
        ({"spec.capacityType": "later"}, "L4", None, 4),
        (
            {
                "spec.instanceType": REMOVE,
                "spec.awsLaunchTemplate": {"instanceType": "p5.48xlarge"},
                "spec.scaling": REMOVE,
            },
            "H100-80GB",
            {"spot"},
            2,
        ),
    ],
)
def test_managed_machine_pools_are_node_groups(
    changes: dict[str, Any], gpu: str, capacity: set[str] | None, most: int
):
    pools = changed(_machine_deployment({}, replicas=2), {"kind": "MachinePool"})
    pools["metadata"]["name"] = "gpu"
    whole = manifest(pools)
    alongside = facts_of_document(changed(MANAGED, changes), "file.yaml", line=3)
    found = completed(whole, Surroundings((whole, *alongside)))
    assert found.gpu.value.startswith(gpu.partition("-")[0])
    assert found.capacity.found == capacity
    assert found.size.maximum.value == most
