"""Pools of every maker as facts: what is read, what is absent, what is not known."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet_policies.adapters.documents import facts_of_document
from gpufleet_policies.adapters.pulumi_props import facts_from_pulumi
from gpufleet_policies.facts import FleetFacts, Surroundings, Workload
from gpufleet_policies.facts.capacity import LaunchTemplate, Reservation
from gpufleet_policies.facts.monitoring import Monitoring
from gpufleet_policies.facts.nvidia import MigLayouts, NvidiaConfig, OperatorChoices, SharingConfig
from gpufleet_policies.facts.pool import Maker, NodePool
from gpufleet_policies.facts.queues import ClusterQueue, KueueConfiguration
from gpufleet_policies.facts.tristate import UNKNOWN
from gpufleet_policies.rules.pools import completed
from tests.policies.cases.pools import GKE_POOL, KARPENTER, NODE_GROUP
from tests.policies.objects import REMOVE, changed, summary

EKS = "aws:eks/nodeGroup:NodeGroup"
GKE = "gcp:container/nodePool:NodePool"


def pool(kind: str, document: dict[str, Any], changes: dict[str, Any] | None = None) -> NodePool:
    found = facts_from_pulumi(kind, changed(document, changes or {}), "p", "urn:p", load)
    assert isinstance(found[0], NodePool)
    return found[0]


def manifest(document: dict[str, Any], changes: dict[str, Any] | None = None) -> Any:
    return facts_of_document(changed(document, changes or {}), "file.yaml", line=3)[0]


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
        load,
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
        load,
    )
    pools = [fact for fact in found if isinstance(fact, NodePool)]
    assert [(p.name, p.is_certainly_gpu) for p in pools] == [("gpu", True), ("cpu", False)]
    assert any(isinstance(fact, Monitoring) for fact in found)


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


TF_GROUP = {
    "cluster_name": "ml",
    "instance_types": ["g6.xlarge"],
    "capacity_type": None,
    "scaling_config": [{"min_size": 1, "max_size": 3, "desired_size": 1}],
    "taint": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    "node_repair_config": [{"enabled": True}],
    "tags": {"cost_center": "1", "Owner": "ml"},
    "labels": {"k8s.amazonaws.com/accelerator": "l4"},
}


def plan(*changes: dict[str, Any]) -> dict[str, Any]:
    return {
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "planned_values": {"root_module": {}},
        "resource_changes": list(changes),
    }


def change(kind: str, after: Any, unknown: Any = None, actions: Any = None) -> dict[str, Any]:
    return {
        "address": f"{kind}.x",
        "type": kind,
        "mode": "managed",
        "change": {
            "actions": actions or ["create"],
            "after": after,
            "after_unknown": unknown or {},
        },
    }


def test_terraform_blocks_read_like_pulumis_properties():
    (found,) = facts_of_document(plan(change("aws_eks_node_group", TF_GROUP)), "plan.json")
    assert found.locator.name == "aws_eks_node_group.x"
    assert found.locator.file == "plan.json"
    assert (found.gpu.value, found.size.minimum.value) == ("L4", 1)
    assert found.capacity.value == {"onDemand"}, "null means: not set"
    assert found.taints.value[0].effect == "NoSchedule"
    assert found.repair.value
    assert found.tags == {"cost_center": "1", "Owner": "ml"}, "the author's keys stay"


def test_terraform_unknown_values_are_unknown():
    hidden = {"scaling_config": [{"min_size": True}], "taint": True, "instance_types": True}
    values = {**TF_GROUP, "scaling_config": [{"max_size": 3}], "taint": None}
    values.pop("instance_types")
    (found,) = facts_of_document(plan(change("aws_eks_node_group", values, hidden)))
    assert found.size.minimum.is_unknown
    assert found.size.maximum.value == 3
    assert found.taints.is_unknown
    assert found.is_gpu_pool.is_unknown


def test_terraform_leaves_out_what_goes():
    gone = change("aws_eks_node_group", None, actions=["delete"])
    assert facts_of_document(plan(gone)) == ()
    kept = change("aws_eks_node_group", TF_GROUP, actions=["delete", "create"])
    assert len(facts_of_document(plan(kept))) == 1


def test_terraform_planned_values_of_modules_and_states():
    resource = {
        "address": "module.m.google_container_node_pool.gpu",
        "type": "google_container_node_pool",
        "mode": "managed",
        "values": {
            "name": "gpu",
            "location": "us-central1-a",
            "autoscaling": [{"min_node_count": 0, "max_node_count": 2}],
            "node_config": [
                {
                    "machine_type": "g2-standard-4",
                    "guest_accelerator": [{"type": "nvidia-l4", "count": 1}],
                    "taint": [],
                }
            ],
            "management": [{"auto_repair": False}],
        },
    }
    module = {"child_modules": [{"resources": [resource]}]}
    for key in ("planned_values", "values"):
        document = {"format_version": "1.0", key: {"root_module": module}}
        (found,) = facts_of_document(document, "state.json")
        assert found.gpu.value == "L4"
        assert not found.repair.value
        assert found.taints.is_absent
        assert found.size.maximum.value == 2


def test_terraform_manifests_and_releases():
    manifests = plan(
        change("kubernetes_manifest", {"manifest": KARPENTER}),
        {
            **change("kubectl_manifest", {"yaml_body": "apiVersion: v1\nkind: Pod\nspec: {}\n"}),
            "address": "kubectl_manifest.pod",
        },
        {
            **change(
                "helm_release",
                {
                    "name": "gpu-operator",
                    "chart": "gpu-operator",
                    "values": ["mig:\n  strategy: mixed\n"],
                    "set": [{"name": "driver.enabled", "value": "false"}],
                },
            ),
            "address": "helm_release.operator",
        },
    )
    found = facts_of_document(manifests)
    assert isinstance(found[0], NodePool)
    assert found[0].maker is Maker.KARPENTER
    assert any(isinstance(fact, Workload) for fact in found)
    choices = next(fact for fact in found if isinstance(fact, OperatorChoices))
    assert choices.mig_strategy.value == "mixed"
    assert choices.driver_enabled.value is False


def step(kind: str, inputs: Any, op: str = "create") -> dict[str, Any]:
    urn = f"urn:pulumi:dev::p::{kind}::gpu"
    return {"op": op, "urn": urn, "newState": {"urn": urn, "type": kind, "inputs": inputs}}


def test_a_preview_and_a_state_hold_the_same_resources():
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    inputs = {**NODE_GROUP, "clusterName": unknown, "__defaults": []}
    preview = {
        "config": {},
        "steps": [
            step("pulumi:pulumi:Stack", {}),
            step(EKS, inputs),
            step(EKS, NODE_GROUP, "delete"),
        ],
        "changeSummary": {"create": 2},
    }
    (found,) = facts_of_document(preview, "preview.json")
    assert found.cluster.is_unknown
    assert found.gpu.value == "L4"
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
    state = {
        "version": 3,
        "deployment": {
            "resources": [
                {
                    "urn": f"urn:pulumi:dev::p::{EKS}::gpu",
                    "type": EKS,
                    "inputs": {**NODE_GROUP, "tags": {"key": {**secret, "ciphertext": "x"}}},
                },
                {"urn": f"urn:pulumi:dev::p::{EKS}::old", "type": EKS, "delete": True},
            ]
        },
    }
    (found,) = facts_of_document(state, "state.json")
    assert found.locator.name == "gpu"
    assert found.locator.urn.endswith("::gpu")
    assert not found.tags_known
    assert found.tags == {}


def test_values_files_are_recognised_by_name_or_by_their_keys():
    values = {"mig": {"strategy": "mixed"}, "dcgmExporter": {"enabled": False}}
    for document, path in (
        (values, "charts/gpu-operator/values.yaml"),
        ({**values, "driver": {}}, "x.yaml"),
    ):
        found = facts_of_document(document, path)
        assert {type(fact).__name__ for fact in found} >= {
            "ChartRelease",
            "NvidiaConfig",
            "OperatorChoices",
        }
        choices = next(fact for fact in found if isinstance(fact, OperatorChoices))
        assert choices.dcgm_exporter.value is False
    assert facts_of_document({"image": {"tag": "1"}}, "charts/web/values.yaml") == ()
    assert facts_of_document({"driver": "postgres"}, "config.yaml") == ()


def test_device_plugin_values_hold_configurations():
    text = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: gpu, replicas: 4}\n"
    found = facts_of_document(
        {"migStrategy": "none", "config": {"map": {"shared": text}}},
        "nvidia-device-plugin-values.yaml",
    )
    sharing = next(fact for fact in found if isinstance(fact, SharingConfig))
    assert sharing.key == "shared"
    assert sharing.resources[0].name == "nvidia.com/gpu"
    assert any(isinstance(f, NvidiaConfig) and f.kind == "device-plugin" for f in found)


def test_bare_configurations_are_recognised():
    parted = {"version": "v1", "mig-configs": {"a": [{"devices": "all", "mig-enabled": False}]}}
    found = facts_of_document(parted, "mig.yaml")
    assert isinstance(found[0], NvidiaConfig)
    assert isinstance(found[1], MigLayouts)
    kueue = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config"},
        "data": {"controller_manager_config.yaml": "waitForPodsReady:\n  enable: false\n"},
    }
    (found,) = facts_of_document(kueue)
    assert isinstance(found, KueueConfiguration)
    assert found.waits_for_ready.value is False


def test_lists_and_dumps_are_opened():
    dump = {"apiVersion": "v1", "kind": "List", "items": [KARPENTER, {"kind": "x"}, None]}
    assert [type(fact).__name__ for fact in facts_of_document(dump)] == ["NodePool"]


def test_a_declaration_is_the_fleet_it_compiles_to():
    (found,) = facts_of_document(summary(), "compiled.json")
    assert isinstance(found, FleetFacts)
    assert found.locator.file == "compiled.json"


def test_older_versions_of_kueue_are_read_too():
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {"cohort": "all", "resourceGroups": []},
    }
    (found,) = facts_of_document(queue)
    assert isinstance(found, ClusterQueue)
    assert found.cohort.value == "all"


def test_reservations_of_both_clouds():
    (block,) = facts_from_pulumi(
        "aws:ec2/capacityReservation:CapacityReservation",
        {"instanceType": "p5.48xlarge", "instanceCount": 2, "id": "cr-1"},
        "r",
        "urn:r",
        load,
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
        load,
    )
    assert google[0].count.value == 3
    assert google[0].gpu.value == "H100-80GB"


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
