"""The Network Operator: it reports whether its NicClusterPolicy is in force.

As upstream (Mellanox/network-operator `pkg/state`, read 2026-11-21), only the policy with the name
`nic-cluster-policy` is read, and it is ready only while some node has an NVIDIA NIC, by the label
that Node Feature Discovery writes. Of the policy's components, the RDMA shared device plugin is
simulated (`rdma_plugin.py`).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpufleet_sandbox.operands.api import Api
from gpufleet_sandbox.operands.gpu_operator import NIC_LABEL
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.journal import log
from gpufleet_sandbox.operands.rdma_plugin import RdmaPlugin, read_rdma_plugin
from gpufleet_sandbox.operands.settling import Settling

NAME = "nic-cluster-policy"
POLICIES = "/apis/mellanox.com/v1alpha1/nicclusterpolicies"
NODES = "/api/v1/nodes?labelSelector=feature.node.kubernetes.io%2Fpci-15b3.present%3Dtrue"
DEPLOYMENTS = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io%2Fname%3Dnetwork-operator"
_STATES = {
    "ofedDriver": "state-OFED",
    "rdmaSharedDevicePlugin": "state-RDMA-device-plugin",
    "sriovDevicePlugin": "state-SRIOV-device-plugin",
    "nvIpam": "state-nv-ipam-cni",
    "nicFeatureDiscovery": "state-nic-feature-discovery",
}
_NETWORK_STATES = {
    "multus": "state-multus-cni",
    "cniPlugins": "state-container-networking-plugins",
    "ipoib": "state-ipoib-cni",
}


class NetworkOperand:
    """The operator of one cluster. Acts on every change of policy, nodes or its Deployment."""

    def __init__(self, api: Api, plugin_changed: Callable[[], None] = lambda: None) -> None:
        """`plugin_changed` is called when nodes may get or lose RDMA resources."""
        self._api = api
        self._plugin_changed = plugin_changed
        self._lock = threading.Lock()
        self._settling = Settling(NAME, self.settle)
        self._policies = Informer(api, POLICIES, self._policy_changed)
        self._nodes = Informer(api, NODES, self._changed)
        self._deployments = Informer(api, DEPLOYMENTS, self._policy_changed)
        self.informers = (self._policies, self._nodes, self._deployments)

    def settle(self) -> None:
        """Write the status that the cluster deserves now."""
        with self._lock:
            policy = self._policies.get(("", NAME))
            if policy is None or not self._deployments.objects():
                return
            nodes = sorted(name for _, name in self._nodes.objects())
            wanted = status(policy.get("spec") or {}, nodes)
            if (policy.get("status") or {}) == wanted:
                return
            path = f"{POLICIES}/{NAME}/status"
            self._policies.put(self._api.merge_patch(path, {"status": wanted}))
            log(NAME, str(wanted["state"]))

    def rdma_plugin(self) -> RdmaPlugin | None:
        """The RDMA shared device plugin, while policy and operator are there."""
        policy = self._policies.get(("", NAME))
        if policy is None or not self._deployments.objects():
            return None
        return read_rdma_plugin(policy.get("spec") or {})

    def _policy_changed(self, key: Key) -> None:
        self._changed(key)
        self._plugin_changed()

    def _changed(self, _: Key) -> None:
        self._settling.changed()


def status(spec: Mapping[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """The status of a policy, given the nodes with an NVIDIA NIC."""
    state = "ready" if nodes else "notReady"
    networks = spec.get("secondaryNetwork") or {}
    applied = [name for key, name in _STATES.items() if key in spec]
    applied += [name for key, name in _NETWORK_STATES.items() if key in networks]
    return {
        "state": state,
        "reason": "" if nodes else f"no node has the label {NIC_LABEL}=true",
        "appliedStates": [{"name": name, "state": state} for name in applied],
    }
