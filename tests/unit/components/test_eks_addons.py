import json
from typing import Any

import pytest

from gpufleet import EfaDevicePlugin, NodeMonitoringAgent
from gpufleet.components_base.inputs import InvalidArgumentsError

RELEASE = "kubernetes:helm.sh/v3:Release"
ADDON = "aws:eks/addon:Addon"


def test_the_efa_plugin_runs_where_the_interfaces_are(run: Any) -> None:
    args: Any = {
        "catalogue": "2026.11",
        "instance_types": ["p6-b300.48xlarge"],
        "tolerations": [{"key": "team", "effect": "NoSchedule"}],
    }
    release = run(lambda: EfaDevicePlugin("efa", args)).one(RELEASE).inputs
    assert release["version"] == "v0.5.20"
    assert release["chart"] == "aws-efa-k8s-device-plugin"
    assert release["values"]["supportedInstanceLabels"]["values"] == ["p6-b300.48xlarge"]
    assert release["values"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_the_efa_plugin_needs_a_type(run: Any) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError, match="instanceTypes"):
            EfaDevicePlugin("efa", {"catalogue": "2026.11", "instance_types": []})

    assert run(program).resources == []


def test_the_agent_is_an_add_on_of_eks(run: Any) -> None:
    args: Any = {
        "cluster_name": "ml",
        "version": "v1.4.0-eksbuild.2",
        "values": {"monitoringAgent": {"resources": {}}},
    }
    addon = run(lambda: NodeMonitoringAgent("agent", args)).one(ADDON).inputs
    assert addon["addonName"] == "eks-node-monitoring-agent"
    assert addon["addonVersion"] == "v1.4.0-eksbuild.2"
    assert json.loads(addon["configurationValues"]) == {"monitoringAgent": {"resources": {}}}


def test_the_agents_arguments_are_checked(run: Any) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError, match="nearest: cluster_name"):
            NodeMonitoringAgent("agent", {"cluster": "ml"})  # type: ignore[typeddict-item]

    assert run(program).resources == []
