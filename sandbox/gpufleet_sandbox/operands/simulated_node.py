"""Everything that happens on one simulated node, in the order it happens on a real one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpufleet_sandbox.operands.cluster import ClusterView, Decision, NodeView, Notice
from gpufleet_sandbox.operands.feature_discovery import owns
from gpufleet_sandbox.operands.gpu_operator import (
    DEPLOY,
    feature_discovery_labels,
    is_gpu_node,
    operator_labels,
)
from gpufleet_sandbox.operands.hardware import HardwareError, SimulatedHardware, read_hardware
from gpufleet_sandbox.operands.mig_manager import States
from gpufleet_sandbox.operands.mig_operand import MigOperand, read_record
from gpufleet_sandbox.operands.neuron import PREFIX
from gpufleet_sandbox.operands.plugin_operand import PLUGIN_ANNOTATION, PluginOperand, PluginResult
from gpufleet_sandbox.operands.quantities import quantity
from gpufleet_sandbox.operands.rdma_plugin import RDMA_ANNOTATION

TWO_PLUGINS = "failed: the GPU Operator's device plugin and the chart's both serve this node"


class SimulatedNode:
    """The kubelet and the operands of one node. Keeps what a running process would remember."""

    def __init__(self, mig_delay: float) -> None:
        self.mig = MigOperand(mig_delay)
        self.plugin = PluginOperand()
        self._told = ""

    def step(
        self,
        node: NodeView,
        cluster: ClusterView,
        now: float,
        gpu_pods: Callable[[], Sequence[str]],
    ) -> Decision:
        """One look at the node; returns only what differs from what it already carries."""
        decision = Decision()
        try:
            hardware = read_hardware(node.annotations)
        except HardwareError as problem:
            if self._told != str(problem):
                decision.notices.append(Notice("HardwareUnreadable", str(problem), warning=True))
            self._told = str(problem)
            decision.healthy = False
            return decision
        self._told = ""
        published = self._operands(node, hardware, cluster, now, gpu_pods, decision)
        for label in node.labels:
            if owns(label) and label not in published.labels and not published.paused:
                decision.labels[label] = None
        decision.labels |= published.labels
        decision.resources = _resources(node, hardware, published)
        self._network(node, hardware, cluster, decision)
        _neuron(node, hardware, cluster, decision)
        _only_changes(node, decision)
        return decision

    def _operands(
        self,
        node: NodeView,
        hardware: SimulatedHardware,
        cluster: ClusterView,
        now: float,
        gpu_pods: Callable[[], Sequence[str]],
        decision: Decision,
    ) -> PluginResult:
        if cluster.feature_discovery:
            decision.labels |= feature_discovery_labels(hardware)
        labels = _merged(node, decision)
        policy = cluster.policy
        operated = policy is not None and cluster.operator_namespace is not None
        states = read_record(node, hardware).states
        if not hardware.gpus:
            return PluginResult({}, {})
        if policy is not None and operated and is_gpu_node(labels):
            decision.labels |= operator_labels(hardware, labels, policy)
            labels = _merged(node, decision)
            if policy.mig_manager_enabled and labels.get(f"{DEPLOY}mig-manager") == "true":
                states = self.mig.step(node, hardware, policy, cluster, now, gpu_pods, decision)
            labels = _merged(node, decision)
            if cluster.plugin_chart is None or not cluster.plugin_chart.runs_on(labels):
                return self.plugin.step(node, hardware, policy, cluster, states, labels, decision)
        return self._chart(node, hardware, cluster, states, labels, decision)

    def _network(
        self, node: NodeView, hardware: SimulatedHardware, cluster: ClusterView, decision: Decision
    ) -> None:
        """RDMA resources next to those of the GPUs; which they are is remembered on the node."""
        found: dict[str, int] = {}
        if cluster.rdma is not None:
            found = cluster.rdma.advertises(hardware.nics, _merged(node, decision), node.taints)
        before = node.annotations.get(RDMA_ANNOTATION, "")
        decision.resources |= {name: None for name in before.split() if name not in found}
        decision.resources |= {name: str(count) for name, count in found.items()}
        decision.annotations[RDMA_ANNOTATION] = " ".join(found) or None

    def _chart(
        self,
        node: NodeView,
        hardware: SimulatedHardware,
        cluster: ClusterView,
        states: States,
        labels: dict[str, str],
        decision: Decision,
    ) -> PluginResult:
        """The device plugin of its own chart: no label of the operator enables or disables it."""
        chart = cluster.plugin_chart
        if chart is None or not chart.runs_on(labels):
            return PluginResult({}, {})
        operators = cluster.policy is not None and cluster.policy.device_plugin_enabled
        if operators and labels.get(f"{DEPLOY}device-plugin") == "true":
            # The kubelet would keep whichever registered last; here the mistake shows at once.
            decision.annotations[PLUGIN_ANNOTATION] = TWO_PLUGINS
            decision.healthy = False
            return PluginResult({}, {})
        switches = {
            f"{DEPLOY}{name}": "true" for name in ("device-plugin", "gpu-feature-discovery")
        }
        theirs = replace(cluster, config_maps=chart.config_maps)
        return self.plugin.step(
            node, hardware, chart.settings, theirs, states, {**labels, **switches}, decision
        )


def _neuron(
    node: NodeView, hardware: SimulatedHardware, cluster: ClusterView, decision: Decision
) -> None:
    """Devices and cores of Trainium and Inferentia."""
    found: dict[str, int] = {}
    if cluster.neuron is not None:
        found = cluster.neuron.advertises(hardware.neuron, node.labels, node.taints)
    gone = {name for name in {**node.capacity, **node.allocatable} if name.startswith(PREFIX)}
    decision.resources |= dict.fromkeys(gone - set(found))
    decision.resources |= {name: str(count) for name, count in found.items()}


def _merged(node: NodeView, decision: Decision) -> dict[str, str]:
    merged = {**node.labels, **decision.labels}
    return {key: value for key, value in merged.items() if value is not None}


def _resources(
    node: NodeView, hardware: SimulatedHardware, published: PluginResult
) -> dict[str, str | None]:
    """Report of the kubelet. A paused plugin leaves its resources at zero."""
    resources: dict[str, str | None] = {
        "cpu": hardware.cpu,
        "memory": hardware.memory,
        "pods": hardware.pods,
    }
    if hardware.ephemeral_storage:
        resources["ephemeral-storage"] = hardware.ephemeral_storage
    for name in {**node.capacity, **node.allocatable}:
        if name.startswith("nvidia.com/"):
            resources[name] = "0" if published.paused else None
    resources |= {name: str(count) for name, count in published.resources.items()}
    return resources


def _only_changes(node: NodeView, decision: Decision) -> None:
    decision.labels = _differing(decision.labels, node.labels)
    decision.annotations = _differing(decision.annotations, node.annotations)
    same = {
        name
        for name, value in decision.resources.items()
        if _same(value, node.capacity.get(name)) and _same(value, node.allocatable.get(name))
    }
    decision.resources = {n: v for n, v in decision.resources.items() if n not in same}


def _differing(
    wanted: Mapping[str, str | None], present: Mapping[str, str]
) -> dict[str, str | None]:
    return {key: value for key, value in wanted.items() if present.get(key) != value}


def _same(wanted: str | None, present: str | None) -> bool:
    if wanted is None or present is None:
        return wanted == present
    return quantity(wanted) == quantity(present)
