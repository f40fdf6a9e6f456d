"""Kinds of OpenShift's machines, their configuration, the autoscaler and the Lifecycle Manager: one
object that complies, and values that the definition or the webhook of the kind refuses."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cli import _program
from gpufleet.contract.schemas.problems import SchemaProblemKind
from gpufleet.contract.schemas.validator import schema_problems

TYPE, CHOICE, BOUND = SchemaProblemKind.TYPE, SchemaProblemKind.CHOICE, SchemaProblemKind.BOUND
UNKNOWN, REQUIRED = SchemaProblemKind.UNKNOWN, SchemaProblemKind.REQUIRED
PATTERN, CONDITION = SchemaProblemKind.PATTERN, SchemaProblemKind.CONDITION
POOL = {"matchLabels": {"gpufleet.dev/pool": "chat"}}
RANGE = {"min": 4, "max": 2}
GOOD: dict[str, dict[str, Any]] = {
    "autoscaling.openshift.io/v1 ClusterAutoscaler": {
        "resourceLimits": {"gpus": [{"type": "nvidia-l4", "min": 0, "max": 4}]},
        "expanders": ["LeastWaste", "Random"],
        "scaleDown": {"enabled": True, "unneededTime": "10m", "utilizationThreshold": "0.4"},
    },
    "autoscaling.openshift.io/v1beta1 MachineAutoscaler": {
        "minReplicas": 0,
        "maxReplicas": 4,
        "scaleTargetRef": {"kind": "MachineSet", "name": "lab-chat"},
    },
    "machine.openshift.io/v1beta1 MachineHealthCheck": {
        "selector": POOL,
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "300s"}],
        "maxUnhealthy": "40%",
    },
    "machine.openshift.io/v1beta1 MachineSet": {
        "replicas": 1,
        "deletePolicy": "Oldest",
        "selector": POOL,
        "template": {"spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}},
    },
    "machineconfiguration.openshift.io/v1 KubeletConfig": {
        "machineConfigPoolSelector": POOL,
        "kubeletConfig": {"cpuManagerPolicy": "static"},
    },
    "machineconfiguration.openshift.io/v1 MachineConfig": {
        "config": {"ignition": {"version": "3.5.0"}},
        "kernelArguments": ["intel_iommu=on"],
    },
    "machineconfiguration.openshift.io/v1 MachineConfigPool": {
        "machineConfigSelector": POOL,
        "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/gpu": ""}},
        "maxUnavailable": 1,
    },
    "operators.coreos.com/v1 OperatorGroup": {
        "targetNamespaces": ["nvidia-gpu-operator"],
        "upgradeStrategy": "Default",
    },
    "operators.coreos.com/v1alpha1 CatalogSource": {
        "sourceType": "grpc",
        "image": "registry.example/catalogue:v4.22",
        "grpcPodConfig": {"securityContextConfig": "restricted"},
    },
    "operators.coreos.com/v1alpha1 InstallPlan": {
        "approval": "Manual",
        "approved": True,
        "clusterServiceVersionNames": ["gpu-operator-certified.v26.7.0"],
    },
    "operators.coreos.com/v1alpha1 Subscription": {
        "name": "gpu-operator-certified",
        "source": "certified-operators",
        "sourceNamespace": "openshift-marketplace",
        "config": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
    },
}
WRONG: list[tuple[str, str, object, SchemaProblemKind]] = [
    ("ClusterAutoscaler", "resourceLimits.gpus.0.max", 0, BOUND),
    ("ClusterAutoscaler", "expanders.0", "least-waste", CHOICE),
    ("ClusterAutoscaler", "scaleDown.enabled", "true", TYPE),
    ("ClusterAutoscaler", "resourceLimits.gpus.0.min", 5, CONDITION),
    ("ClusterAutoscaler", "resourceLimits.cores", RANGE, CONDITION),
    ("ClusterAutoscaler", "resourceLimits.memory", RANGE, CONDITION),
    ("MachineAutoscaler", "maxReplicas", 0, BOUND),
    ("MachineAutoscaler", "minReplicas", 5, CONDITION),
    ("MachineHealthCheck", "unhealthyConditions.0.timeout", "5 minutes", PATTERN),
    ("MachineHealthCheck", "maxUnhealthy", "half", PATTERN),
    ("MachineSet", "deletePolicy", "oldest", CHOICE),
    ("MachineSet", "template.spec.taints.0.effects", "NoSchedule", UNKNOWN),
    ("KubeletConfig", "machineConfigPoolSelectors", {}, UNKNOWN),
    ("MachineConfig", "kernelArguments", "intel_iommu=on", TYPE),
    ("MachineConfigPool", "paused", "true", TYPE),
    ("OperatorGroup", "upgradeStrategy", "Fast", CHOICE),
    ("OperatorGroup", "selector", {"matchLabel": {}}, UNKNOWN),
    ("CatalogSource", "grpcPodConfig.securityContextConfig", "privileged", CHOICE),
    ("CatalogSource", "grpcPodConfig.tolerations", [{"keys": "a"}], UNKNOWN),
    ("InstallPlan", "approved", "true", TYPE),
    ("Subscription", "channels", "v26.7", UNKNOWN),
    ("Subscription", "config.tolerations.0.operators", "Exists", UNKNOWN),
]


def item(name: str) -> dict[str, Any]:
    version, kind = name.split()
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "default"},
        "spec": copy.deepcopy(GOOD[name]),
    }


def changed(name: str, path: str, value: object) -> dict[str, Any]:
    written = item(next(one for one in GOOD if one.endswith(f" {name}")))
    *way, last = path.split(".")
    here: Any = written["spec"]
    for step in way:
        here = here[int(step)] if step.isdigit() else here[step]
    here[int(last) if last.isdigit() else last] = value
    return written


@pytest.fixture
def ran(tmp_path: Path) -> Callable[[str, dict[str, Any]], Any]:
    """The result of a command on one object."""

    def run(command: str, document: dict[str, Any]) -> Any:
        file = tmp_path / "object.yaml"
        file.write_text(yaml.safe_dump(document))
        return CliRunner().invoke(_program, [command, str(file)])

    return run


@pytest.mark.parametrize("name", GOOD)
def test_a_right_object_is_validated_and_has_no_problem(
    name: str, ran: Callable[[str, dict[str, Any]], Any]
) -> None:
    assert schema_problems(item(name)) == ()
    for command in ("check", "audit"):
        result = ran(command, item(name))
        assert (result.exit_code, "not validated" in result.output) == (0, False), result.output


@pytest.mark.parametrize(("name", "path", "value", "kind"), WRONG)
def test_one_wrong_field(
    name: str,
    path: str,
    value: object,
    kind: SchemaProblemKind,
    ran: Callable[[str, dict[str, Any]], Any],
) -> None:
    written = changed(name, path, value)
    assert [one.kind for one in schema_problems(written)] == [kind]
    for command in ("check", "audit"):
        result = ran(command, written)
        assert (result.exit_code, "config-" in result.output) == (1, True), result.output


def test_every_kind_has_a_broken_property() -> None:
    assert {name for name, *_ in WRONG} == {name.split()[1] for name in GOOD}


def test_only_one_name_is_taken_by_the_autoscalers_operator() -> None:
    """openshift/cluster-autoscaler-operator pkg/controller/clusterautoscaler/validator.go."""
    written = item("autoscaling.openshift.io/v1 ClusterAutoscaler")
    written["metadata"]["name"] = "gpu"
    assert [one.kind for one in schema_problems(written)] == [CONDITION]


def test_an_expression_about_a_variable_proves_nothing(
    ran: Callable[[str, dict[str, Any]], Any],
) -> None:
    value = {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "VSphereMachineProviderSpec",
        "template": "rhcos",
        "workspace": {"server": "vcenter", "datacenter": "DC1", "folder": "${FOLDER}"},
        "network": {"devices": [{"networkName": "machines"}]},
    }
    written = item("machine.openshift.io/v1beta1 MachineSet")
    written["spec"]["template"]["spec"]["providerSpec"] = {"value": value}
    assert "object-" not in ran("audit", written).output
    value["workspace"] = {**value["workspace"], "folder": "gpu"}
    assert "config-value-invalid" in ran("audit", written).output
