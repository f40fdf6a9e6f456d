"""The device plugin by its own chart, on a simulated node."""

import json
from dataclasses import replace
from typing import Any

from gpufleet_sandbox.operands.cluster import ClusterView, Decision, NodeView
from gpufleet_sandbox.operands.cluster_policy import read_cluster_policy
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION
from gpufleet_sandbox.operands.plugin_chart import read_plugin_chart
from gpufleet_sandbox.operands.simulated_node import TWO_PLUGINS, SimulatedNode

SHARED = """\
version: v1
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
LABELS = {
    "app.kubernetes.io/name": "nvidia-device-plugin",
    "app.kubernetes.io/component": "simulated-device-plugin",
}


def config_maps(**values: Any) -> dict[tuple[str, str], dict[str, Any]]:
    merged = {
        "config": {"name": "sharing", "default": "plain"},
        "migStrategy": "none",
        "gfd": {"enabled": True},
        "devicePlugin": {"enabled": True},
        "mps": {"root": "/run/nvidia/mps"},
        "affinity": {},
        **values,
    }
    made = {"metadata": {"labels": LABELS}, "data": {"values.json": json.dumps(merged)}}
    sharing = {"metadata": {}, "data": {"plain": "version: v1", "four": SHARED}}
    return {("p", "release"): made, ("p", "sharing"): sharing}


def view(**values: Any) -> ClusterView:
    return ClusterView(None, None, False, plugin_chart=read_plugin_chart(config_maps(**values)))


def node(driver: bool = True, **labels: str) -> NodeView:
    gpu = {"product": "NVIDIA L4", "memoryMiB": 23034, "count": 2}
    hardware: dict[str, Any] = {"gpus": [gpu], "cpu": "8", "memory": "32Gi"}
    if driver:
        hardware["driver"] = "580.95.05"
    annotations = {HARDWARE_ANNOTATION: json.dumps(hardware)}
    shown = {key.replace("_", "."): value for key, value in labels.items()}
    return NodeView("n", "uid", shown, annotations, {}, {})


def look(cluster: ClusterView, one: NodeView) -> Decision:
    return SimulatedNode(0.0).step(one, cluster, 0.0, list)


def gpus(decision: Decision) -> str | None:
    return decision.resources.get("nvidia.com/gpu")


def test_a_node_gets_the_default_or_what_its_label_says() -> None:
    assert gpus(look(view(), node())) == "2"
    chosen = replace(node(), labels={"nvidia.com/device-plugin.config": "four"})
    decision = look(view(), chosen)
    assert gpus(decision) == "8"
    assert decision.labels["nvidia.com/gpu.replicas"] == "4"
    assert not any(label.startswith("nvidia.com/gpu.deploy") for label in decision.labels)


def test_without_a_default_the_only_key_counts() -> None:
    maps = config_maps(config={"name": "sharing", "default": ""})
    maps["p", "sharing"]["data"] = {"four": SHARED}
    cluster = ClusterView(None, None, False, plugin_chart=read_plugin_chart(maps))
    assert gpus(look(cluster, node())) == "8"


def test_nobody_brings_a_driver() -> None:
    decision = look(view(), node(driver=False))
    assert gpus(decision) is None
    assert "no NVIDIA driver" in str(decision.annotations)


def test_it_stays_on_the_pools_it_was_given() -> None:
    wanted = {"key": "gpufleet.dev/pool", "operator": "In", "values": ["chat"]}
    term = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": term}
    cluster = view(affinity={"nodeAffinity": required})
    assert gpus(look(cluster, node())) is None
    assert gpus(look(cluster, replace(node(), labels={"gpufleet.dev/pool": "chat"}))) == "2"


def test_two_plugins_on_one_node_are_a_failure() -> None:
    policy = read_cluster_policy({"spec": {}})
    cluster = replace(view(), policy=policy, operator_namespace="o", feature_discovery=True)
    decision = look(cluster, node())
    assert gpus(decision) is None
    assert TWO_PLUGINS in decision.annotations.values()
    quiet = replace(policy, device_plugin_enabled=False)
    assert gpus(look(replace(cluster, policy=quiet), node())) == "2"
