import json
from typing import Any

import pytest

from gpufleet import EfaDevicePlugin, GpuFleet, NodeMonitoringAgent
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.unit.components.random_fleets import CONNECTIONS

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


SYSTEM = {"key": "nvidia.com/gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("sharing", "configured"),
    [
        ([None], {"dcgmAgent": {"tolerations": [SYSTEM]}}),
        (["mig"], None),
        (["mig", None], ["p1"]),
    ],
)
def test_dcgm_of_the_agent_reaches_tainted_nodes_without_mig(
    run: Any, sharing: list[str | None], configured: Any
) -> None:
    """Without it the agent reports every node with a taint as broken."""
    cut = {"mig": {"layouts": [{"gpus": 8, "devices": {"1g.10gb": 7}}]}}
    pools = [
        {
            "name": f"p{index}",
            "instanceTypes": ["p5.48xlarge" if kind else "g6.xlarge"],
            "nodes": {"min": 0, "max": 1},
            "eks": {"nodeRepair": True},
            **({"sharing": cut} if kind else {}),
        }
        for index, kind in enumerate(sharing)
    ]
    spec = {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": pools,
    }
    made = run(lambda: GpuFleet("fleet", {"spec": spec, "connection": CONNECTIONS["eks"]}))
    written = made.one(ADDON).inputs.get("configurationValues")
    found = None if written is None else json.loads(written)
    if isinstance(configured, list):
        agent = found["dcgmAgent"]
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        (term,) = agent["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"]
        assert agent["tolerations"] == [SYSTEM]
        assert term["matchExpressions"] == [
            {"key": "gpufleet.dev/pool", "operator": "In", "values": configured},
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        ]
    else:
        assert found == configured
