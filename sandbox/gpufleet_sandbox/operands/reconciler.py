"""The only part that talks to the cluster: look, decide, write, and look again when due."""

import heapq
import threading
import time
import uuid
from datetime import UTC, datetime

import urllib3

from gpufleet_sandbox.operands.api import FIELD_MANAGER, Api, ApiError
from gpufleet_sandbox.operands.cluster import ClusterView, Decision, NodeView, Notice
from gpufleet_sandbox.operands.cluster_policy import CLUSTER_POLICY_NAME
from gpufleet_sandbox.operands.dra_operand import DraOperand
from gpufleet_sandbox.operands.hardware import SIMULATED_LABEL
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.journal import log
from gpufleet_sandbox.operands.lifecycle_manager import LifecycleOperand
from gpufleet_sandbox.operands.network_operator import NetworkOperand
from gpufleet_sandbox.operands.node_tests import NodeTests
from gpufleet_sandbox.operands.policy_status import policy_status
from gpufleet_sandbox.operands.simulated_node import SimulatedNode
from gpufleet_sandbox.operands.views import cluster_view, gpu_pod_names, node_view

NODES = "/api/v1/nodes"
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
DEPLOYMENTS = (
    "/apis/apps/v1/deployments?labelSelector="
    "app.kubernetes.io%2Fname%20in%20(gpu-operator%2Cnode-feature-discovery)"
)
RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0


class Reconciler:
    """All simulated nodes of one cluster."""

    def __init__(self, api: Api, mig_delay: float) -> None:
        self._api = api
        self._mig_delay = mig_delay
        self._wake = threading.Condition()
        self._due: dict[str, float] = {}
        self._simulated: dict[tuple[str, str], SimulatedNode] = {}
        self._healthy: dict[str, bool] = {}
        self._failures: dict[str, int] = {}
        self._stopping = False
        simulated = f"{NODES}?labelSelector={SIMULATED_LABEL}%3Dtrue"
        self._nodes = Informer(api, simulated, self._node_changed)
        self._policies = Informer(api, POLICIES, self._cluster_changed)
        self._config_maps = Informer(api, "/api/v1/configmaps", self._cluster_changed)
        self._deployments = Informer(api, DEPLOYMENTS, self._cluster_changed)
        self._dra = DraOperand(api, lambda name: self._schedule(name, time.monotonic()))
        self._network = NetworkOperand(api, self._all_due)
        self._lifecycle = LifecycleOperand(api)
        self._node_tests = NodeTests(api)
        self._informers = (
            self._nodes,
            self._policies,
            self._config_maps,
            self._deployments,
            *self._dra.informers,
            *self._network.informers,
            *self._lifecycle.informers,
        )

    def run(self) -> None:
        """Watch and reconcile until `stop`."""
        self._node_tests.start()
        for informer in (*self._informers, *self._node_tests.informers):
            informer.start()
        for informer in self._informers:
            while not informer.synced.wait(0.2):
                if self._stopping:
                    return
        log("operands", f"watching {len(self._nodes.objects())} simulated nodes")
        self._all_due()
        while True:
            names = self._wait()
            if names is None:
                return
            self._reconcile(names)

    def once(self) -> None:
        """Bring every node to rest, waiting out changes under way, then return."""
        self._refresh()
        self._all_due()
        while self._due:
            names = self._wait()
            if names is None:
                return
            self._reconcile(names)
            self._refresh()
        self._network.settle()
        self._lifecycle.settle()

    def stop(self) -> None:
        """End `run` after the node in hand."""
        self._stopping = True
        for informer in (*self._informers, *self._node_tests.informers):
            informer.stop()
        self._node_tests.stop()
        with self._wake:
            self._wake.notify_all()

    def _refresh(self) -> None:
        for informer in self._informers:
            try:
                informer.refresh()
            except ApiError as problem:
                if problem.status != 404:
                    raise

    def _node_changed(self, key: Key) -> None:
        self._schedule(key[1], time.monotonic())

    def _cluster_changed(self, key: Key) -> None:
        if key[1] != "kube-root-ca.crt":
            self._all_due()

    def _all_due(self) -> None:
        now = time.monotonic()
        for _, name in self._nodes.objects():
            self._schedule(name, now)

    def _schedule(self, name: str, when: float) -> None:
        with self._wake:
            self._due[name] = min(when, self._due.get(name, when))
            self._wake.notify_all()

    def _wait(self) -> list[str] | None:
        """Names that are due, oldest first; None when stopping."""
        with self._wake:
            while not self._stopping:
                now = time.monotonic()
                ready = [(when, name) for name, when in self._due.items() if when <= now]
                if ready:
                    names = [name for _, name in heapq.nsmallest(len(ready), ready)]
                    for name in names:
                        del self._due[name]
                    return names
                first = min(self._due.values(), default=None)
                self._wake.wait(None if first is None else first - now)
        return None

    def _reconcile(self, names: list[str]) -> None:
        view = cluster_view(
            self._policies.objects(),
            self._deployments.objects(),
            self._config_maps.objects(),
            self._network.rdma_plugin(),
        )
        for name in names:
            try:
                self._node(name, view)
                self._failures.pop(name, None)
            except ApiError as problem:
                self._again(name, "" if problem.status in (404, 409) else str(problem))
            except (urllib3.exceptions.HTTPError, OSError) as problem:
                self._again(name, type(problem).__name__)
        try:
            self._report(view)
        except (ApiError, urllib3.exceptions.HTTPError, OSError) as problem:
            log(CLUSTER_POLICY_NAME, f"status not written: {problem}; trying again")
            self._schedule(names[0], time.monotonic() + RETRY_SECONDS)  # any node's turn ends here

    def _again(self, name: str, reason: str) -> None:
        """Look at the node again, later with every failure in a row."""
        count = self._failures[name] = self._failures.get(name, 0) + 1
        pause = min(RETRY_SECONDS * 2 ** (count - 1), LONGEST_RETRY_SECONDS)
        if reason:
            log(name, f"{reason}; trying again in {pause:g} s")
        self._schedule(name, time.monotonic() + pause)

    def _node(self, name: str, view: ClusterView) -> None:
        item = self._nodes.get(("", name))
        if item is None or item["metadata"].get("deletionTimestamp"):
            self._healthy.pop(name, None)
            for identity in [identity for identity in self._simulated if identity[0] == name]:
                del self._simulated[identity]
            return
        node = node_view(item)
        simulated = self._simulated.setdefault((name, node.uid), SimulatedNode(self._mig_delay))
        made = item["metadata"].get("creationTimestamp") or ""
        decision = simulated.step(node, view, time.monotonic(), lambda: self._gpu_pods(name, made))
        self._healthy[name] = decision.healthy
        if decision.again_after is not None:
            self._schedule(name, time.monotonic() + decision.again_after)
        for notice in decision.notices:
            log(name, notice.message)
        self._write(node, decision)
        for notice in decision.notices:
            self._event(node, notice)
        item = self._nodes.get(("", name)) or item
        self._dra.step(item, node_view(item), view)

    def _gpu_pods(self, name: str, made: str) -> list[str]:
        pods = self._api.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")
        return gpu_pod_names(pods["items"], made)

    def _write(self, node: NodeView, decision: Decision) -> None:
        """Resources before labels: when a label reports success, the resources exist."""
        if decision.resources:
            resources = {"capacity": decision.resources, "allocatable": decision.resources}
            item = self._api.merge_patch(f"{NODES}/{node.name}/status", {"status": resources})
            self._nodes.put(item)
            devices = {name: value for name, value in decision.resources.items() if "/" in name}
            if devices:
                shown = ", ".join(f"{name}={value or 'removed'}" for name, value in devices.items())
                log(node.name, f"advertises {shown}")
        if decision.labels or decision.annotations:
            metadata = {"labels": decision.labels, "annotations": decision.annotations}
            item = self._api.merge_patch(f"{NODES}/{node.name}", {"metadata": metadata})
            self._nodes.put(item)

    def _event(self, node: NodeView, notice: Notice) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{node.name}.{uuid.uuid4().hex[:16]}", "namespace": "default"},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Node",
                "name": node.name,
                "uid": node.uid,
            },
            "reason": notice.reason,
            "message": notice.message[:1000],
            "type": "Warning" if notice.warning else "Normal",
            "source": {"component": FIELD_MANAGER, "host": node.name},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        self._api.create("/api/v1/namespaces/default/events", body)

    def _report(self, view: ClusterView) -> None:
        policy = self._policies.get(("", CLUSTER_POLICY_NAME))
        if policy is None or view.operator_namespace is None:
            return
        unhealthy = sorted(name for name, healthy in self._healthy.items() if not healthy)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = policy_status(policy, view.operator_namespace, unhealthy, now)
        if status is not None:
            path = f"{POLICIES}/{CLUSTER_POLICY_NAME}/status"
            self._policies.put(self._api.merge_patch(path, {"status": status}))
            log(CLUSTER_POLICY_NAME, str(status["state"]))
