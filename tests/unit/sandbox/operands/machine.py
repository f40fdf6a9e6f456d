"""A simulated node with a clock that tests move by hand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet_sandbox.operands.cluster import ClusterView, Decision, NodeView
from gpufleet_sandbox.operands.cluster_policy import read_cluster_policy
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION
from gpufleet_sandbox.operands.simulated_node import SimulatedNode

A100 = {"product": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920, "count": 2}


L4 = {"product": "NVIDIA L4", "memoryMiB": 23034, "count": 1}


REQUIRED = (
    "operator daemonsets driver toolkit devicePlugin dcgm dcgmExporter gfd nodeStatusExporter"
)


MIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"


KEY = "nvidia.com/device-plugin.config"


def policy_of(**sections: Any) -> Any:
    spec = {name: {} for name in REQUIRED.split()} | {"mig": {"strategy": "mixed"}} | sections
    return read_cluster_policy({"metadata": {"name": "cluster-policy"}, "spec": spec})


class Machine:
    """A node whose writes take effect, and a clock that is moved by hand."""

    def __init__(self, gpu: dict[str, object], labels: Mapping[str, str] | None = None, **hw: Any):
        data = {"gpus": [gpu], "cpu": "96", "memory": "1152Gi", "driver": "580.95.05", **hw}
        self.labels: dict[str, str] = dict(labels or {})
        self.annotations = {HARDWARE_ANNOTATION: json.dumps(data)}
        self.resources: dict[str, str] = {}
        self.cluster = ClusterView(policy_of(), "gpu-operator", True, {})
        self.operands = SimulatedNode(1.0)
        self.now = 0.0
        self.users: Sequence[str] = ()
        self.messages: list[str] = []
        self.states: list[str | None] = []

    def policy(self, **sections: Any) -> None:
        self.cluster = replace(self.cluster, policy=policy_of(**sections))

    def config_maps(self, **data: Mapping[str, str]) -> None:
        self.cluster = replace(self.cluster, config_maps=data)

    def look(self) -> Decision:
        view = NodeView(
            "n", "uid", self.labels, self.annotations, self.resources, dict(self.resources)
        )
        decision = self.operands.step(view, self.cluster, self.now, lambda: self.users)
        for kept, changes in (
            (self.labels, decision.labels),
            (self.annotations, decision.annotations),
            (self.resources, decision.resources),
        ):
            for key, value in changes.items():
                if value is None:
                    kept.pop(key, None)
                else:
                    kept[key] = value
        self.messages += [notice.message for notice in decision.notices]
        self.states.append(self.labels.get(STATE))
        return decision

    def settle(self) -> Decision:
        """Look until nothing is due and nothing changes."""
        for _ in range(20):
            decision = self.look()
            if decision.again_after is not None:
                self.now += decision.again_after
            elif not (decision.labels or decision.annotations or decision.resources):
                return decision
        raise AssertionError(f"the node does not come to rest: {self.messages}")

    @property
    def gpus(self) -> dict[str, int]:
        return {k: int(v) for k, v in self.resources.items() if k.startswith("nvidia.com/")}
