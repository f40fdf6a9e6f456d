"""mig-manager on one node over time: it watches the label, and the ClusterPolicy restarts it.

A label it has handled is not handled again, whatever happens to the ConfigMap under the same name;
what was handled is kept on the node, so that a restart of the simulator changes nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpufleet_sandbox.operands.cluster import ClusterView, Decision, NodeView, Notice
from gpufleet_sandbox.operands.cluster_policy import ClusterPolicy
from gpufleet_sandbox.operands.gpu_operator import (
    DEPLOY,
    MIG_CONFIG,
    MIG_STATE,
    PAUSED,
    PAUSED_OPERANDS,
)
from gpufleet_sandbox.operands.hardware import SimulatedHardware
from gpufleet_sandbox.operands.mig_default_configs import generated_configs
from gpufleet_sandbox.operands.mig_manager import (
    MigLabel,
    States,
    after_reboot,
    apply,
    change_modes,
    create_devices,
    is_applied,
    modes_match,
)
from gpufleet_sandbox.operands.mig_parted_config import (
    Config,
    MigConfigError,
    parse_configs,
    select,
)
from gpufleet_sandbox.operands.silicon import states_as_data, states_from_data

MIG_STATE_ANNOTATION = "sandbox.gpufleet.dev/mig-state"
"""JSON on the Node: devices of each GPU, and the label value that mig-manager handled last."""

PodNames = Callable[[], Sequence[str]]


@dataclass(slots=True)
class PendingChange:
    """A change under way."""

    name: str
    config: Config
    due: float
    rebooting: bool = False
    rebooted: bool = False


@dataclass(frozen=True, slots=True)
class ChangeAnnotation:
    """The annotation."""

    states: States
    handled: str


def read_record(node: NodeView, hardware: SimulatedHardware) -> ChangeAnnotation:
    """State of the GPUs as the node remembers it; a new node has MIG off everywhere."""
    try:
        data = json.loads(node.annotations.get(MIG_STATE_ANNOTATION, "{}"))
    except json.JSONDecodeError:
        data = {}
    if not isinstance(data, dict):
        data = {}
    states = states_from_data(data.get("gpus", []), len(hardware.gpus))
    return ChangeAnnotation(states, str(data.get("handled", "")))


def _write_record(decision: Decision, states: States, handled: str) -> None:
    data = {"gpus": states_as_data(states), "handled": handled}
    decision.annotations[MIG_STATE_ANNOTATION] = json.dumps(data, separators=(",", ":"))


class MigOperand:
    """One node's mig-manager."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        """Seconds a change stays pending, so that it can be seen. Default of the process: 1."""
        self.job: PendingChange | None = None
        self._told = ""

    def step(
        self,
        node: NodeView,
        hardware: SimulatedHardware,
        policy: ClusterPolicy,
        cluster: ClusterView,
        now: float,
        gpu_pods: PodNames,
        decision: Decision,
    ) -> States:
        """Go on with a change, start one, or leave things as they are. Returns the GPUs' state."""
        record = read_record(node, hardware)
        if self.job is not None:
            return self._go_on(self.job, node, hardware, policy, record, now, gpu_pods, decision)
        asked = node.labels.get(MIG_CONFIG) or decision.labels.get(MIG_CONFIG) or ""
        handled = _handled(asked, policy)
        if not asked or handled == record.handled:
            return record.states
        configs = self._configs(hardware, policy, cluster, decision)
        if configs is None:
            return record.states
        try:
            config = select(configs() if callable(configs) else configs, asked)
        except MigConfigError as problem:
            self._finish(decision, node, MigLabel.FAILED, asked, str(problem))
            _write_record(decision, record.states, handled)
            return record.states
        if is_applied(hardware, record.states, config):
            self._finish(decision, node, MigLabel.SUCCESS, asked, "already applied")
            _write_record(decision, record.states, handled)
            return record.states
        rebooted = node.labels.get(MIG_STATE) == MigLabel.REBOOTING
        if rebooted and not modes_match(hardware, record.states, config):
            reason = "MIG mode change did not take effect after rebooting"
            self._finish(decision, node, MigLabel.FAILED, asked, reason)
            _write_record(decision, record.states, handled)
            return record.states
        self.job = PendingChange(asked, config, now + self.delay, rebooted=rebooted)
        self._pause(decision, node)
        decision.labels[MIG_STATE] = MigLabel.PENDING
        decision.notices.append(Notice("MigPending", f"MIG config {asked}: pending"))
        decision.again_after = self.delay
        return record.states

    def _configs(
        self,
        hardware: SimulatedHardware,
        policy: ClusterPolicy,
        cluster: ClusterView,
        decision: Decision,
    ) -> Mapping[str, Config] | Callable[[], Mapping[str, Config]] | None:
        """Source of the configs; None while the pod cannot start without its ConfigMap."""
        if not policy.mig_config:
            return generated_configs(hardware)
        data = cluster.config_maps.get(policy.mig_config)
        if data is None:
            message = f"mig-manager waits for ConfigMap {policy.mig_config}"
            if self._told != message:
                decision.notices.append(Notice("MigManagerNotStarted", message, warning=True))
            self._told = message
            decision.healthy = False
            return None
        self._told = ""
        text = data.get("config.yaml")

        def parsed() -> Mapping[str, Config]:
            if text is None:
                raise MigConfigError(f"ConfigMap {policy.mig_config} has no key config.yaml")
            return parse_configs(text)

        return parsed

    def _go_on(
        self,
        job: PendingChange,
        node: NodeView,
        hardware: SimulatedHardware,
        policy: ClusterPolicy,
        record: ChangeAnnotation,
        now: float,
        gpu_pods: PodNames,
        decision: Decision,
    ) -> States:
        if now < job.due:
            decision.again_after = job.due - now
            return record.states
        handled = _handled(job.name, policy)
        if job.rebooting:
            states = after_reboot(hardware, record.states, job.config)
            self.job = PendingChange(job.name, job.config, now + self.delay, rebooted=True)
            if not modes_match(hardware, states, job.config):
                self.job = None
                reason = "MIG mode change did not take effect after rebooting"
                self._finish(decision, node, MigLabel.FAILED, job.name, reason)
                _write_record(decision, states, handled)
                return states
            decision.labels[MIG_STATE] = MigLabel.PENDING
            decision.again_after = self.delay
            _write_record(decision, states, record.handled)
            return states
        users = [] if job.rebooted else gpu_pods()
        modes = change_modes(hardware, record.states, job.config, users)
        stuck = modes.error or not modes_match(hardware, modes.states, job.config)
        if stuck and policy.with_reboot and not job.rebooted:
            self.job = PendingChange(job.name, job.config, now + self.delay, rebooting=True)
            decision.labels[MIG_STATE] = MigLabel.REBOOTING
            reason = modes.error or "a GPU did not take the mode"
            decision.notices.append(Notice("MigRebooting", f"MIG config {job.name}: {reason}"))
            decision.again_after = self.delay
            return record.states
        if modes.error is None:
            applied = create_devices(hardware, modes.states, job.config, users)
        else:
            applied = apply(hardware, modes.states, job.config, users)
        self.job = None
        state = MigLabel.SUCCESS if applied.error is None else MigLabel.FAILED
        self._finish(decision, node, state, job.name, applied.error or "applied")
        _write_record(decision, applied.states, handled)
        return applied.states

    def _finish(
        self, decision: Decision, node: NodeView, state: MigLabel, name: str, reason: str
    ) -> None:
        """Restart the operands and report the result."""
        for operand in PAUSED_OPERANDS:
            label = f"{DEPLOY}{operand}"
            if (decision.labels.get(label) or node.labels.get(label)) == PAUSED:
                decision.labels[label] = "true"
        decision.labels[MIG_STATE] = state
        failed = state is MigLabel.FAILED
        text = f"MIG config {name}: {state} ({reason})"
        decision.notices.append(Notice("MigFailed" if failed else "MigSuccess", text, failed))

    def _pause(self, decision: Decision, node: NodeView) -> None:
        for operand in PAUSED_OPERANDS:
            label = f"{DEPLOY}{operand}"
            current = decision.labels.get(label) or node.labels.get(label)
            if current != "false":
                decision.labels[label] = PAUSED


def _handled(name: str, policy: ClusterPolicy) -> str:
    return f"{name}@{policy.mig_manager_fingerprint}"
