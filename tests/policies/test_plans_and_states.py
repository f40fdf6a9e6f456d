"""Terraform's plans and states, previews and states of Pulumi: the same facts from each."""

from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.nvidia import OperatorChoices
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.cases.pools import KARPENTER, NODE_GROUP
from tests.policies.test_cloud_pools import EKS

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
    assert any(isinstance(fact, WorkloadFacts) for fact in found)
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
