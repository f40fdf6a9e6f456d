"""The Network Operator: it reports whether its NicClusterPolicy is in force.

As upstream (Mellanox/network-operator `pkg/state`, read 2026-11-21), only the policy called
`nic-cluster-policy` is looked at, and it is ready only while some node has an NVIDIA NIC, by the
label that Node Feature Discovery writes.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import urllib3

from gpufleet.sandbox.operands.api import Api, ApiError
from gpufleet.sandbox.operands.informer import Informer, Key
from gpufleet.sandbox.operands.journal import log

NAME = "nic-cluster-policy"
NIC_LABEL = "feature.node.kubernetes.io/pci-15b3.present"
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

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._policies = Informer(api, POLICIES, self._changed)
        self._nodes = Informer(api, NODES, self._changed)
        self._deployments = Informer(api, DEPLOYMENTS, self._changed)
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

    def _changed(self, _: Key) -> None:
        try:
            self.settle()
        except (ApiError, urllib3.exceptions.HTTPError, OSError) as problem:
            log(NAME, f"status not written: {problem}")


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
