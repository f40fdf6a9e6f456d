"""States of nodes of a declared pool, each with its finding and the command that ends it."""

import copy
from typing import Any

import pytest

from gpufleet.change.live_node import UPGRADE
from gpufleet.findings import Finding, Severity
from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.snapshot import cluster_of
from tests.unit.change.fleets import WHOLE, compiled, fleet_data

DATA = fleet_data(WHOLE, platform="eks", gpu="A10G", gpusPerNode=4, instanceTypes=[])
DATA["pools"][0] |= {"instanceTypes": ["g5.12xlarge"], "nodes": {"min": 1, "max": 3}}
del DATA["pools"][0]["gpu"]
DATA["cluster"]["kubernetesVersion"] = "1.36"
FLEET = compiled(DATA)
POOL = FLEET.pool("cut")
GPU = "nvidia.com/gpu"
HEALTHY: dict[str, Any] = {
    "kind": "Node",
    "metadata": {
        "name": "ip-10-0-0-1",
        "labels": {
            **POOL.labels,
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": "NVIDIA-A10G",
            "nvidia.com/cuda.driver-version.full": "580.95.05",
            UPGRADE: "upgrade-done",
        },
        "annotations": {"nvidia.com/gpu-driver-upgrade-enabled": "true"},
    },
    "spec": {"taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {GPU: "4", "cpu": "48"},
        "capacity": {GPU: "4", "cpu": "48"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.36.1-eks-1"},
    },
}


def node(**changes: Any) -> dict[str, Any]:
    """The healthy node, with values at dotted places; None takes one away."""
    item = copy.deepcopy(HEALTHY)
    for place, parts in changes.items():
        section, _, part = place.partition("_")
        target = item[section].setdefault(part, {}) if part else item[section]
        if isinstance(parts, dict) and isinstance(target, dict):
            for key, value in parts.items():
                if value is None:
                    target.pop(key, None)
                else:
                    target[key] = value
        else:
            item[section][part] = parts
    return item


def diagnosed(*items: dict[str, Any]) -> dict[str, Finding]:
    return {one.finding.code: one.finding for one in diagnose(cluster_of(items), FLEET)}


def test_a_healthy_node_has_no_finding() -> None:
    assert diagnosed(HEALTHY) == {}


LABELS = "metadata_labels"
CASES: list[tuple[str, dict[str, Any], str, Severity, str]] = [
    (
        "failed upgrade",
        {LABELS: {UPGRADE: "upgrade-failed"}, "spec": {"unschedulable": True}},
        "node-driver-upgrade-failed",
        Severity.ERROR,
        f"kubectl label node ip-10-0-0-1 --overwrite {UPGRADE}=upgrade-required",
    ),
    (
        "automatic upgrades off",
        {
            LABELS: {UPGRADE: "upgrade-required"},
            "metadata_annotations": {"nvidia.com/gpu-driver-upgrade-enabled": None},
        },
        "node-driver-upgrade-stuck",
        Severity.WARNING,
        "kubectl delete pod -n gpu-operator -l app.kubernetes.io/component=nvidia-driver",
    ),
    (
        "skipped upgrade",
        {LABELS: {UPGRADE: "upgrade-required", "nvidia.com/gpu-driver-upgrade.skip": "true"}},
        "node-driver-upgrade-stuck",
        Severity.WARNING,
        "kubectl label node ip-10-0-0-1 nvidia.com/gpu-driver-upgrade.skip-",
    ),
    (
        "waits for its turn",
        {LABELS: {UPGRADE: "upgrade-required"}},
        "node-driver-upgrading",
        Severity.INFO,
        "maxParallelUpgrades",
    ),
    (
        "upgrade under way",
        {LABELS: {UPGRADE: "drain-required"}, "spec": {"unschedulable": True}},
        "node-driver-upgrading",
        Severity.INFO,
        "spec.nodeName=ip-10-0-0-1",
    ),
    (
        "three of four, the others unhealthy",
        {"status_allocatable": {GPU: "3"}},
        "node-gpus-lost",
        Severity.ERROR,
        "read the XID",
    ),
    (
        "three of four, one not seen",
        {"status_allocatable": {GPU: "3"}, "status_capacity": {GPU: "3"}},
        "node-gpus-lost",
        Severity.ERROR,
        "nvidia-smi -L",
    ),
    (
        "no product label",
        {LABELS: {"nvidia.com/gpu.product": None}},
        "node-product-label-missing",
        Severity.ERROR,
        "-l app=gpu-feature-discovery --field-selector spec.nodeName=ip-10-0-0-1",
    ),
    (
        "discovery kept off",
        {
            LABELS: {
                "nvidia.com/gpu.product": None,
                "nvidia.com/gpu.deploy.gpu-feature-discovery": "false",
            }
        },
        "node-product-label-missing",
        Severity.ERROR,
        "nvidia.com/gpu.deploy.gpu-feature-discovery=true --overwrite",
    ),
    (
        "operands disabled",
        {LABELS: {"nvidia.com/gpu.deploy.operands": "false"}},
        "node-operands-disabled",
        Severity.ERROR,
        "kubectl label node ip-10-0-0-1 nvidia.com/gpu.deploy.operands-",
    ),
    (
        "left cordoned",
        {"spec": {"unschedulable": True}},
        "node-left-cordoned",
        Severity.WARNING,
        "kubectl uncordon ip-10-0-0-1",
    ),
    (
        "a taint of Karpenter",
        {
            "spec": {
                "taints": [
                    *HEALTHY["spec"]["taints"],
                    {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
                ]
            }
        },
        "node-taint-left",
        Severity.WARNING,
        "kubectl delete node ip-10-0-0-1",
    ),
    (
        "a taint of someone",
        {
            "spec": {
                "taints": [
                    *HEALTHY["spec"]["taints"],
                    {"key": "example.com/debug", "effect": "NoSchedule"},
                ]
            }
        },
        "node-taint-left",
        Severity.WARNING,
        "kubectl taint node ip-10-0-0-1 example.com/debug:NoSchedule-",
    ),
    (
        "not ready",
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        "node-not-ready",
        Severity.ERROR,
        "systemctl start kubelet",
    ),
    (
        "kubelet too old",
        {"status_nodeInfo": {"kubeletVersion": "v1.32.4"}},
        "node-kubelet-out-of-range",
        Severity.ERROR,
        "replace the node first",
    ),
    (
        "kubelet too new",
        {"status_nodeInfo": {"kubeletVersion": "v1.37.0"}},
        "node-kubelet-out-of-range",
        Severity.ERROR,
        "upgrade the control plane first",
    ),
]


@pytest.mark.parametrize(
    ("changes", "code", "severity", "command"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_each_state_has_its_finding_and_command(
    changes: dict[str, Any], code: str, severity: Severity, command: str
) -> None:
    found = diagnosed(node(**changes))
    assert list(found) == [code]
    assert found[code].severity is severity
    assert command in (found[code].fix or "")


def test_an_old_kubelet_within_the_policy_is_fine() -> None:
    assert diagnosed(node(status_nodeInfo={"kubeletVersion": "v1.33.9"})) == {}


def test_versions_that_differ_in_a_pool_are_named() -> None:
    older = node(
        metadata={"name": "ip-10-0-0-2"},
        metadata_labels={"nvidia.com/cuda.driver-version.full": "570.195.03"},
        status_nodeInfo={"kubeletVersion": "v1.35.4-eks-2"},
    )
    found = diagnose(cluster_of([HEALTHY, older]), FLEET)
    assert {one.cause.code for one in found} == {"node-versions-mixed"}
    said = " ".join(one.text("message") for one in found)
    assert all(one in said for one in ("570.195.03", "580.95.05", "v1.36.1", "v1.35.4"))


def test_a_node_that_was_cordoned_before_its_upgrade_says_so() -> None:
    annotation = "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable"
    item = node(spec={"unschedulable": True}, metadata_annotations={annotation: "true"})
    assert "was cordoned before its driver upgrade" in diagnosed(item)["node-left-cordoned"].message


@pytest.mark.parametrize("broken", ["labels", "annotations", "taints", "conditions"])
def test_parts_of_a_wrong_kind_count_as_not_there(broken: str) -> None:
    item = copy.deepcopy(HEALTHY)
    for section in ("metadata", "spec", "status"):
        if broken in item[section]:
            item[section][broken] = "text"
    diagnosed(item)
