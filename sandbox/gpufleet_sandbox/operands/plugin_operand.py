"""Device plugin and GFD on one node over time: which config they run with, and since when.

A plugin that runs keeps the text it started with: editing the ConfigMap does nothing until it is
restarted by a new label value, a change of the ClusterPolicy or a MIG change. One that cannot start
is restarted for ever, so it takes a repaired ConfigMap by itself.
"""

from dataclasses import dataclass

from gpufleet_sandbox.operands.cluster import ClusterView, Decision, NodeView, Notice
from gpufleet_sandbox.operands.cluster_policy import ClusterPolicy
from gpufleet_sandbox.operands.device_plugin import PluginError, advertise
from gpufleet_sandbox.operands.device_plugin_config import (
    OperandPluginConfig,
    PluginConfigError,
    check_together,
    parse_plugin_config,
)
from gpufleet_sandbox.operands.feature_discovery import DiscoveryError, discover
from gpufleet_sandbox.operands.gpu_operator import (
    DEPLOY,
    PAUSED,
    PLUGIN_CONFIG,
    driver_problem,
    driver_version,
)
from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.mig_manager import States

PLUGIN_ANNOTATION = "sandbox.gpufleet.dev/device-plugin"
"""On the Node: `running`, `paused`, `off`, or why the plugin does not run."""


@dataclass(frozen=True, slots=True)
class PluginResult:
    """Results of the two operands for the node."""

    resources: dict[str, int]
    labels: dict[str, str]
    paused: bool = False


class PluginOperand:
    """One node's device plugin and GFD."""

    def __init__(self) -> None:
        self._running: tuple[tuple[object, ...], OperandPluginConfig] | None = None
        self._told: tuple[str, ...] = ()

    def step(
        self,
        node: NodeView,
        hardware: SimulatedHardware,
        policy: ClusterPolicy,
        cluster: ClusterView,
        states: States,
        labels: dict[str, str],
        decision: Decision,
    ) -> PluginResult:
        """Present resources and labels of the node. `labels` are those about to be written."""
        plugin = policy.device_plugin_enabled and labels.get(f"{DEPLOY}device-plugin", "")
        discovery = policy.feature_discovery_enabled and labels.get(
            f"{DEPLOY}gpu-feature-discovery", ""
        )
        if PAUSED in (plugin, discovery):
            self._running = None
            decision.annotations[PLUGIN_ANNOTATION] = "paused"
            return PluginResult({}, {}, paused=True)
        try:
            _check_alone(plugin == "true", cluster, labels)
            published, warnings = self._run(
                node, hardware, policy, cluster, states, plugin == "true", discovery == "true"
            )
        except (PluginConfigError, PluginError, DiscoveryError) as problem:
            self._running = None
            published, warnings = problem_labels(problem, hardware, states, policy, discovery), ()
            decision.healthy = False
            status = f"failed: {problem}"
            decision.annotations[PLUGIN_ANNOTATION] = status
            self._tell(decision, (status,), "DevicePluginFailed")
            return published
        decision.annotations[PLUGIN_ANNOTATION] = "running" if plugin == "true" else "off"
        self._tell(decision, warnings, "DevicePluginWarning")
        return published

    def _run(
        self,
        node: NodeView,
        hardware: SimulatedHardware,
        policy: ClusterPolicy,
        cluster: ClusterView,
        states: States,
        plugin: bool,
        discovery: bool,
    ) -> tuple[PluginResult, tuple[str, ...]]:
        if not plugin and not discovery:
            return PluginResult({}, {}), ()
        problem = driver_problem(hardware, policy)
        if problem is not None:
            raise PluginError(problem)
        config = self._config(node, policy, cluster, states)
        strategy = policy.mig_strategy or config.mig_strategy or "none"
        check_together(config, strategy, policy.mps_root)
        labels: dict[str, str] = {}
        if discovery:
            version = driver_version(hardware, policy)
            labels = discover(hardware, states, strategy, config.sharing, version)
        if not plugin:
            return PluginResult({}, labels), config.warnings
        if config.sharing and config.sharing.kind == "mps" and not discovery:
            raise PluginError("the MPS control daemon waits for GFD's label nvidia.com/mps.capable")
        advertised = advertise(hardware, states, strategy, config.sharing)
        return PluginResult(advertised.resources, labels), config.warnings + advertised.warnings

    def _config(
        self, node: NodeView, policy: ClusterPolicy, cluster: ClusterView, states: States
    ) -> OperandPluginConfig:
        key = node.labels.get(PLUGIN_CONFIG) or policy.device_plugin_default
        identity = (policy.device_plugin_fingerprint, key, states)
        if self._running is not None and self._running[0] == identity:
            return self._running[1]
        config = _read(policy.device_plugin_config, key, cluster)
        self._running = (identity, config)
        return config

    def _tell(self, decision: Decision, messages: tuple[str, ...], reason: str) -> None:
        if messages != self._told:
            decision.notices += [Notice(reason, text, warning=True) for text in messages]
        self._told = messages


def _check_alone(plugin: bool, cluster: ClusterView, labels: dict[str, str]) -> None:
    """Raise PluginError where the DRA driver serves the GPUs too: each GPU would be assigned twice,
    which nothing in the sandbox would detect."""
    if plugin and cluster.dra is not None and cluster.dra.runs_on(labels):
        raise PluginError(
            "the DRA driver serves the GPUs of this node too: each would be assigned twice; one "
            f"of them must stay away (label {DEPLOY}device-plugin=false)"
        )


def _read(name: str, key: str, cluster: ClusterView) -> OperandPluginConfig:
    if not name:
        return OperandPluginConfig()
    data = cluster.config_maps.get(name)
    if data is None:
        raise PluginConfigError(f"the plugin's pod waits for ConfigMap {name}")
    if not key:
        return OperandPluginConfig()
    if key not in data:
        raise PluginConfigError(
            f"specified config {key} does not exist in ConfigMap {name} "
            f"(keys: {', '.join(sorted(data)) or 'none'})"
        )
    return parse_plugin_config(data[key])


def problem_labels(
    problem: Exception,
    hardware: SimulatedHardware,
    states: States,
    policy: ClusterPolicy,
    discovery: object,
) -> PluginResult:
    """GFD still labels a node whose MIG devices only the plugin refuses (product MIG-INVALID)."""
    if not isinstance(problem, PluginError) or discovery != "true":
        return PluginResult({}, {})
    if driver_problem(hardware, policy) is not None or not policy.mig_strategy:
        return PluginResult({}, {})
    if any(state.mig_enabled for state in states):
        version = driver_version(hardware, policy)
        return PluginResult({}, discover(hardware, states, policy.mig_strategy, None, version))
    return PluginResult({}, {})
