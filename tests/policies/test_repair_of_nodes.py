"""Programs that repair nodes, in the files of each tool: NVSentinel's values, Karpenter's gate,
GKE's and OpenShift's switches, and the tests of `acceptance`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.cases.pools import KARPENTER
from tests.policies.objects import TODAY, changed

CODES = {
    "health-without-floor",
    "health-two-janitors",
    "node-repair-blind-with-mig",
    "taint-never-removed",
}
QUARANTINE = {"global": {"faultQuarantine": {"enabled": True}}}


def found(folder: Path, files: dict[str, Any]) -> dict[str, str]:
    """Code -> message, of these rules."""
    for name, content in files.items():
        text = content if isinstance(content, str) else yaml.safe_dump_all(content)
        (folder / name).write_text(text)
    result = audit(find_inputs([str(folder)]), read_settings({}), TODAY)
    return {one.code: one.message for one in result.findings if one.code in CODES}


def helm_release(chart: str, values: dict[str, Any]) -> dict[str, Any]:
    """A release of Flux."""
    source = {"kind": "HelmRepository", "name": "charts"}
    spec = {"chart": {"spec": {"chart": chart, "sourceRef": source}}, "interval": "10m"}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": chart, "namespace": "flux"},
        "spec": {**spec, "values": values},
    }


def karpenter(*, gate: bool) -> dict[str, Any]:
    return helm_release("karpenter", {"settings": {"featureGates": {"nodeRepair": gate}}})


@pytest.mark.parametrize("gate", [True, False])
def test_karpenters_gate_is_for_all_its_pools(tmp_path: Path, gate: bool) -> None:
    files = [helm_release("nvsentinel", QUARANTINE), karpenter(gate=gate), KARPENTER]
    codes = found(tmp_path, {"all.yaml": files})
    assert set(codes) == ({"health-two-janitors"} if gate else set())
    if gate:
        assert "Karpenter's node repair repairs nodes of gpu" in codes["health-two-janitors"]


def test_monitors_alone_repair_nothing(tmp_path: Path) -> None:
    monitors = {"global": {"gpuHealthMonitor": {"enabled": True}}}
    files = [helm_release("nvsentinel", monitors), karpenter(gate=True), KARPENTER]
    assert found(tmp_path, {"all.yaml": files}) == {}


GOOGLE = """
resource "google_container_node_pool" "gpu" {
  name    = "gpu"
  cluster = "ml"
  node_config {
    machine_type = "g2-standard-12"
    guest_accelerator {
      type  = "nvidia-l4"
      count = 1
    }
  }
  management { auto_repair = %s }
}
"""


@pytest.mark.parametrize(
    ("repairs", "codes"), [("true", {"health-two-janitors"}), ("false", set())]
)
def test_gke_repairs_by_a_switch_of_terraform(
    tmp_path: Path, repairs: str, codes: set[str]
) -> None:
    values = yaml.safe_dump(QUARANTINE)
    files = {"main.tf": GOOGLE % repairs, "nvsentinel-values.yaml": values}
    assert set(found(tmp_path, files)) == codes


MACHINES = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineSet",
    "metadata": {"name": "gpu", "namespace": "openshift-machine-api"},
    "spec": {
        "replicas": 3,
        "template": {
            "spec": {
                "providerSpec": {
                    "value": {"kind": "AWSMachineProviderConfig", "instanceType": "g6.2xlarge"}
                }
            }
        },
    },
}
CHECK = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "gpu", "namespace": "openshift-machine-api"},
    "spec": {
        "selector": {"matchLabels": {"machine.openshift.io/cluster-api-machineset": "gpu"}},
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "300s"}],
    },
}


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, {"health-without-floor"}),
        ({"spec.maxUnhealthy": "100%"}, {"health-without-floor"}),
        ({"spec.maxUnhealthy": "40%"}, set()),
        ({"spec.selector.matchLabels": {"role": "infra"}}, set()),
    ],
)
def test_a_machine_health_check_has_a_limit(
    tmp_path: Path, changes: dict[str, Any], codes: set[str]
) -> None:
    assert set(found(tmp_path, {"all.yaml": [MACHINES, changed(CHECK, changes)]})) == codes


def test_the_agent_may_keep_off_nodes(tmp_path: Path) -> None:
    cut = changed(
        KARPENTER,
        {
            "spec.template.metadata.labels": {"nvidia.com/mig.config": "all-1g.5gb"},
            "spec.template.spec.requirements[0].values": ["p4d.24xlarge"],
        },
    )
    addon = """
resource "aws_eks_addon" "agent" {
  cluster_name         = "ml"
  addon_name           = "eks-node-monitoring-agent"
  configuration_values = "%s"
}
"""
    for configuration, codes in (
        ("", {"node-repair-blind-with-mig"}),
        ("{nodeAgent: {affinity: {nodeAffinity: {}}}}", set()),
    ):
        files = {"main.tf": addon % configuration, "all.yaml": [karpenter(gate=True), cut]}
        assert set(found(tmp_path, files)) == codes


def test_the_rendered_folder_has_who_removes_the_taint(tmp_path: Path) -> None:
    pool = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 4}, "acceptance": {}}
    declared = {"catalogue": "2026.11", "platform": "gke", "pools": [pool]}
    fleet = compile_data({**declared, "cluster": {"name": "ml", "region": "us-central1"}}).fleet
    assert fleet is not None
    for one in artefacts(fleet):
        file = tmp_path / one.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(one.text)
    assert "not-accepted" in (tmp_path / "clouds/gke/chat.yaml").read_text()
    assert "taint-never-removed" not in found(tmp_path, {})
    (tmp_path / "manifests/acceptance/chat.yaml").unlink()
    assert "taint-never-removed" in found(tmp_path, {})


@pytest.mark.parametrize("field", ["taints", "startupTaints"])
def test_a_taint_of_acceptance_that_nothing_removes_in_either_list(
    tmp_path: Path, field: str
) -> None:
    taint = {"key": "gpufleet.dev/not-accepted", "effect": "NoSchedule"}
    pool = changed(KARPENTER, {f"spec.template.spec.{field}": [taint]})
    assert "taint-never-removed" in found(tmp_path, {"pool.yaml": [pool]})
    pool = changed(KARPENTER, {f"spec.template.spec.{field}": [{**taint, "key": "x.io/starting"}]})
    assert "taint-never-removed" not in found(tmp_path, {"pool.yaml": [pool]})
