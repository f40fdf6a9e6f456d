import json
from typing import Any

import pytest

from gpufleet import EfaDevicePlugin, GpuFleet, NodeMonitoringAgent
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.findings import Severity
from gpufleet.platforms.compiled import compile_data
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
CUT = {"mig": {"layouts": [{"gpus": 8, "devices": {"1g.10gb": 7}}]}}


def fleet(*pools: dict[str, Any]) -> dict[str, Any]:
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1"},
        "pools": [
            {
                "name": f"p{index}",
                "instanceTypes": ["p5.48xlarge" if "sharing" in pool else "g6.xlarge"],
                "nodes": {"min": 0, "max": 1},
                **pool,
            }
            for index, pool in enumerate(pools)
        ],
    }


def agent_values(run: Any, *pools: dict[str, Any]) -> Any:
    spec = fleet(*pools)
    connection: Any = CONNECTIONS["eks"]
    made = run(lambda: GpuFleet("fleet", {"spec": spec, "connection": connection}))
    return json.loads(made.one(ADDON).inputs["configurationValues"])


def runs_on(affinity: Any, labels: dict[str, str]) -> bool:
    """The scheduler's rule for required node affinity: one term, each of its expressions."""
    operators = {
        "In": lambda key, values: labels.get(key) in values,
        "NotIn": lambda key, values: labels.get(key) not in values,
        "DoesNotExist": lambda key, _: key not in labels,
    }
    required = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return any(
        all(
            operators[one["operator"]](one["key"], one.get("values"))
            for one in term["matchExpressions"]
        )
        for term in required["nodeSelectorTerms"]
    )


def node(pool: str | None, kind: str, arch: str = "amd64", **further: str) -> dict[str, str]:
    own = {} if pool is None else {"gpufleet.dev/pool": pool}
    return {"node.kubernetes.io/instance-type": kind, "kubernetes.io/arch": arch, **own, **further}


def test_dcgm_of_the_agent_tolerates_the_taints_of_pools(run: Any) -> None:
    """Without it the agent reports every node with a taint as broken."""
    assert agent_values(run, {}) == {"dcgmAgent": {"tolerations": [SYSTEM]}}


def test_dcgm_tolerates_the_taints_of_pools_that_are_not_repaired(run: Any) -> None:
    """The agent reports there too, and Karpenter's gate is for all its pools."""
    taint = {"key": "team", "value": "a", "effect": "NoSchedule"}
    values = agent_values(run, {}, {"taints": [taint], "eks": {"nodeRepair": False}})
    team = {"key": "team", "operator": "Exists"}
    assert values == {"dcgmAgent": {"tolerations": [SYSTEM, team]}}


@pytest.mark.parametrize("whole", [True, False])
def test_the_agent_and_its_dcgm_are_off_nodes_with_mig_together(run: Any, whole: bool) -> None:
    """An agent without DCGM reports `AcceleratedHardwareReady: False`: node repair replaced every
    node with MIG (aws/containers-roadmap#2555)."""
    values = agent_values(run, {"sharing": CUT}, *([{}] if whole else []))
    agent, dcgm = values["nodeAgent"]["affinity"], values["dcgmAgent"]["affinity"]
    nodes = {
        "mig": (node("p0", "p5.48xlarge"), False, False),
        "whole": (node("p1", "g6.xlarge"), True, whole),
        "arm": (node(None, "p6e-gb200.36xlarge", "arm64"), True, True),
        "another's": (node(None, "g5.xlarge"), True, True),
        "without GPU": (node(None, "m7i.large"), True, False),
        "auto": (
            node(None, "g5.xlarge", **{"eks.amazonaws.com/compute-type": "auto"}),
            False,
            False,
        ),
    }
    for name, (labels, with_agent, with_dcgm) in nodes.items():
        assert (runs_on(agent, labels), runs_on(dcgm, labels)) == (with_agent, with_dcgm), name
    assert values["dcgmAgent"].get("tolerations") == ([SYSTEM] if whole else None)


def node_repair_findings(*pools: dict[str, Any]) -> list[tuple[str, str]]:
    two = [{"nodes": {"min": 0, "max": 2}, **pool} for pool in pools]
    found = compile_data(fleet(*two)).findings
    defaults = ("node-repair-blind-with-mig", "node-repair-ends-only-node")
    assert {f.severity for f in found if f.code in defaults} <= {Severity.INFO}
    return [(one.code, one.path) for one in found if one.code.startswith("node-repair")]


@pytest.mark.parametrize(
    ("pools", "codes"),
    [
        ([{"sharing": CUT}], [("node-repair-blind-with-mig", "pools[0].eks.nodeRepair")]),
        (
            [{}, *[{"sharing": CUT}] * 3],
            [("node-repair-blind-with-mig", "pools[1].eks.nodeRepair")],
        ),
        ([{"sharing": CUT, "eks": {"nodeRepair": True}}], []),
        ([{"sharing": CUT, "eks": {"nodeRepair": False}}], []),
        ([{}], []),
        (
            [{"nodes": {"min": 0, "max": 1}}],
            [("node-repair-ends-only-node", "pools[0].eks.nodeRepair")],
        ),
        (
            [{"nodes": {"min": 0, "max": 1}}] * 2,
            [("node-repair-ends-only-node", "pools[0].eks.nodeRepair")],
        ),
        ([{"nodes": {"min": 0, "max": 1}, "eks": {"nodeRepair": True}}], []),
        (
            [
                {"provisioner": "karpenter", "eks": {"nodeRepair": False}},
                {"provisioner": "karpenter"},
                {"eks": {"nodeRepair": False}},
            ],
            [("node-repair-of-all-karpenter-pools", "pools[0].eks.nodeRepair")],
        ),
    ],
)
def test_what_node_repair_does_not_do_is_said(pools: Any, codes: Any) -> None:
    assert node_repair_findings(*pools) == codes
