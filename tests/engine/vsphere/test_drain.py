"""Emptying a node against the real API server and its disruption controller."""

from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from gpufleet_sandbox.sandbox import Sandbox
from gpufleet_vcenter.cluster_node import ClusterApi, ClusterNode
from gpufleet_vcenter.settings import KubernetesAccess, NodeSettings
from tests.engine.vcenter_fixture import DYNAMIC
from tests.engine.vsphere.direct import refused

MACHINE = "5f0d6c5e-0000-5000-8000-000000000001"
BIOS = "4203a1b2-c3d4-e5f6-0718-293a4b5c6d7e"


def settings(name: str, kubeconfig: str, seconds: int) -> NodeSettings:
    return NodeSettings.model_validate(
        {
            "owner": "o/p/s/g/0",
            "generation": "0123456789ab",
            "endpoint": {"server": "vc.example.com"},
            "place": {"datacenter": "DC", "cluster": "C", "template": "t"},
            "name": name,
            "cpus": 8,
            "memoryMib": 65_536,
            "gpu": DYNAMIC,
            "gpuMemoryGib": 80,
            "kubernetes": {"kubeconfig": kubeconfig, "drainSeconds": seconds},
        }
    )


@pytest.fixture
def node(cluster: Any, namespace: str) -> Any:
    """A node that reports Ready and runs on our machine; no simulator manages it."""
    core = client.CoreV1Api(cluster)
    core.create_node({"metadata": {"name": namespace}})
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    core.patch_node_status(
        namespace, {"status": {"conditions": [ready], "nodeInfo": _info(BIOS.upper())}}
    )
    yield namespace
    if namespace in {found.metadata.name for found in core.list_node().items}:
        core.delete_node(namespace)


def _info(system_uuid: str) -> dict[str, str]:
    names = ("machineID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion")
    more = ("kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture")
    return {**dict.fromkeys((*names, *more), ""), "systemUUID": system_uuid}


def test_a_budget_is_respected_and_the_node_goes_with_its_machine(
    sandbox: Sandbox, cluster: Any, node: str
) -> None:
    core, policy = client.CoreV1Api(cluster), client.PolicyV1Api(cluster)
    labels = {"app": "server"}
    core.create_namespaced_pod(
        node,
        {
            "metadata": {"name": "server", "labels": labels},
            "spec": {
                "nodeName": node,
                "terminationGracePeriodSeconds": 0,
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "registry.example.com/server:1"}],
            },
        },
    )
    conditions = [{"type": "Ready", "status": "True"}]
    core.patch_namespaced_pod_status(
        "server", node, {"status": {"phase": "Running", "conditions": conditions}}
    )
    policy.create_namespaced_pod_disruption_budget(
        node,
        {
            "metadata": {"name": "one"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        },
    )
    api = ClusterApi(KubernetesAccess(kubeconfig=str(sandbox.kubeconfig)))
    hasty = ClusterNode(api, settings(node, str(sandbox.kubeconfig), 1), BIOS)
    text = refused("vsphere-drain", lambda: hasty.empty(MACHINE))
    assert f"{node}/server (a disruption budget keeps it)" in text
    assert core.read_node(node).spec.unschedulable is True
    assert core.read_namespaced_pod("server", node).metadata.deletion_timestamp is None

    policy.delete_namespaced_pod_disruption_budget("one", node)
    patient = ClusterNode(api, settings(node, str(sandbox.kubeconfig), 60), BIOS)
    patient.empty(MACHINE)
    assert core.list_namespaced_pod(node).items == []
    patient.reopen(MACHINE)
    assert not core.read_node(node).spec.unschedulable
    patient.await_ready()
    patient.forget()
    with pytest.raises(ApiException) as gone:
        core.read_node(node)
    assert gone.value.status == 404
