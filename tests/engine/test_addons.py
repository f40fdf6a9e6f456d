"""Add-ons in the order in which they need each other, through the real engine and provider.

A cluster has one GPU Operator: tests with their own stack come first, those that update the
shared stack after them.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes import client

from gpufleet_sandbox.engine_result import EngineError, Result
from tests.engine.conftest import Project
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

MakeProject = Callable[..., Project]
MELLANOX = ("mellanox.com", "v1alpha1")
NIC_LABEL = "feature.node.kubernetes.io/pci-15b3.present"
PROGRAM = """
import pulumi
from gpufleet import {component}

made = {component}("fleet", {args!r})
"""
L4: dict[str, Any] = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 1}}
CUT: dict[str, Any] = {
    "name": "notebooks",
    "instance_types": ["p4de.24xlarge"],
    "nodes": {"min": 1, "max": 1},
    "sharing": {"mig": {"layouts": [{"devices": {"3g.40gb": 2}}]}},
}
NETWORK = {
    "enabled": True,
    "wait": True,
    "ofed": "operator",
    "rdma": [{"name": "rail_a", "pods_per_node": 8}],
    "sriov": [{"name": "nic0", "selectors": {"vendors": ["15b3"], "pf_names": ["ens1f0"]}}],
    "macvlan": [{"name": "storage", "ipam": {"type": "nv-ipam", "poolName": "storage"}}],
    "host_device": [{"name": "rail0", "resource_name": "nic0"}],
    "ipoib": [{"name": "ib0", "master": "ib0"}],
}


def addons(**sections: Any) -> dict[str, Any]:
    args = {"catalogue": "2026.11", "platform": "sandbox", "pools": [L4], "addons": sections}
    return {"__main__.py": PROGRAM.format(component="GpuAddons", args=args)}


def fleet(pools: list[dict[str, Any]], **sections: Any) -> dict[str, str]:
    spec = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "addons"},
        "namePrefix": "addons",
        "pools": pools,
        "addons": sections,
    }
    return {"__main__.py": PROGRAM.format(component="GpuFleet", args={"spec": spec})}


class Background:
    """An update that goes on while the test looks."""

    def __init__(self, project: Project) -> None:
        self.result: Result | None = None
        self.failure: EngineError | None = None
        self._thread = threading.Thread(target=self._run, args=(project,), daemon=True)
        self._thread.start()

    def _run(self, project: Project) -> None:
        try:
            self.result = project.run("up")
        except EngineError as failed:
            self.failure = failed

    def ended(self) -> Result:
        self._thread.join(300)
        if self.failure is not None:
            raise self.failure
        assert self.result is not None, "the update did not end"
        return self.result


@pytest.fixture
def nic_node(cluster: Any) -> Iterator[Callable[[], None]]:
    """Makes a node with an NVIDIA NIC when called."""
    core = client.CoreV1Api(cluster)
    name = "addons-nic"

    def make() -> None:
        core.create_node({"metadata": {"name": name, "labels": {NIC_LABEL: "true"}}})

    yield make
    if any(node.metadata.name == name for node in core.list_node().items):
        core.delete_node(name)


def kinds(result: Result, operation: str) -> list[str]:
    """Types of the resources a command made or removed, in its order."""
    return [urn.split("::")[2].split("$")[-1] for op, urn in result.steps if op == operation]


def names(result: Result, operation: str) -> list[str]:
    return [urn.split("::")[3] for op, urn in result.steps if op == operation]


def test_networks_and_gpu_operator_wait_for_the_policy(
    cluster_project: MakeProject, cluster: Any, nic_node: Callable[[], None]
) -> None:
    custom = client.CustomObjectsApi(cluster)

    def state() -> str:
        try:
            found = custom.get_cluster_custom_object(
                *MELLANOX, "nicclusterpolicies", "nic-cluster-policy"
            )
        except client.ApiException as missing:
            if missing.status != 404:
                raise
            return ""
        return str(found.get("status", {}).get("state", ""))

    def listed(plural: str) -> list[str]:
        items = custom.list_cluster_custom_object(*MELLANOX, plural)["items"]
        return [item["metadata"]["name"] for item in items]

    project = cluster_project(addons(network_operator=NETWORK))
    update = Background(project)
    until(lambda: update.failure or state() == "notReady", "the policy is looked at")
    time.sleep(3)  # whatever does not wait would be there by now
    assert update.failure is None
    assert state() == "notReady"
    assert [listed(p) for p in ("macvlannetworks", "hostdevicenetworks", "ipoibnetworks")] == [
        [],
        [],
        [],
    ]
    apps = client.AppsV1Api(cluster)
    assert apps.list_namespaced_deployment("gpu-operator").items == []

    nic_node()
    result = update.ended()
    assert state() == "ready"
    assert listed("macvlannetworks") == ["storage"]
    assert listed("hostdevicenetworks") == ["rail0"]
    assert listed("ipoibnetworks") == ["ib0"]
    made = names(result, "create")
    for later in (
        "fleet-network-operator-macvlan-storage",
        "fleet-network-operator-hostdevice-rail0",
        "fleet-gpu-operator-release",
    ):
        assert made.index("fleet-network-operator-policy") < made.index(later), made
    policy = custom.get_cluster_custom_object(
        *MELLANOX, "nicclusterpolicies", "nic-cluster-policy"
    )["spec"]
    shared = json.loads(policy["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert shared == [
        {"resourceName": "rail_a", "rdmaHcaMax": 8, "selectors": {"vendors": ["15b3"]}}
    ]
    # One Node Feature Discovery in the cluster, the first one.
    deployments = apps.list_deployment_for_all_namespaces(
        label_selector="app.kubernetes.io/name=node-feature-discovery"
    )
    ours = {"nvidia-network-operator", "gpu-operator"}  # other tests keep their own namespaces
    assert [d.metadata.namespace for d in deployments.items if d.metadata.namespace in ours] == [
        "nvidia-network-operator"
    ]
    project.run("preview", "--expect-no-changes")

    removed = names(project.run("destroy"), "delete")
    for first, then in (
        ("fleet-gpu-operator-release", "fleet-network-operator-policy"),
        ("fleet-network-operator-macvlan-storage", "fleet-network-operator-policy"),
        ("fleet-network-operator-ipoib-ib0", "fleet-network-operator-policy"),
        ("fleet-network-operator-policy", "fleet-network-operator-release"),
        ("fleet-network-operator-release", "fleet-network-operator-namespace"),
    ):
        assert removed.index(first) < removed.index(then), removed
    # The definitions stay: others' objects of these kinds would go with them.
    extensions = client.ApiextensionsV1Api(cluster)
    kept = [d.metadata.name for d in extensions.list_custom_resource_definition().items]
    assert {"nicclusterpolicies.mellanox.com", "macvlannetworks.mellanox.com"} <= set(kept)


def test_the_plugin_by_its_own_chart_shares_gpus(
    cluster_project: MakeProject, cluster: Any
) -> None:
    core = client.CoreV1Api(cluster)
    pool = {**L4, "instanceTypes": ["g6.2xlarge"], "sharing": {"timeSlicing": {"replicas": 4}}}
    del pool["gpu"]
    project = cluster_project(fleet([pool], devicePlugin={"enabled": True}))
    result = project.run("up")
    assert kinds(result, "create").count("kubernetes:helm.sh/v3:Release") == 1

    def advertised() -> str | None:
        nodes = core.list_node(label_selector="gpufleet.dev/pool=chat").items
        return (nodes[0].status.allocatable or {}).get("nvidia.com/gpu.shared") if nodes else None

    until(lambda: advertised() == "4", "four shares of one L4")
    project.run("preview", "--expect-no-changes")
    removed = names(project.run("destroy"), "delete")
    assert removed.index("fleet-chat") < removed.index("fleet-addons-plugin-release"), removed


def test_a_field_the_definition_does_not_have_never_reaches_the_cluster(
    cluster_project: MakeProject,
) -> None:
    network = {"enabled": True, "policy": {"rdmaSharedDevicePlugn": {"image": "x"}}}
    project = cluster_project(addons(network_operator=network))
    with pytest.raises(EngineError, match="rdmaSharedDevicePlugin"):
        project.run("preview")


def test_a_second_stack_cannot_take_over_the_operator(
    shared_project: Project, cluster_project: MakeProject, core: Any
) -> None:
    shared_project.write(addons())
    shared_project.run("up")
    made = core.read_namespace("gpu-operator").metadata.uid

    second = cluster_project(addons(), name="second")
    with pytest.raises(EngineError, match=r"gpufleet\.dev/owner"):
        second.run("up")
    second.run("destroy")

    assert core.read_namespace("gpu-operator").metadata.uid == made
    shared_project.run("preview", "--refresh", "--expect-no-changes")


def test_what_a_named_secret_holds_is_nowhere_in_state(
    shared_project: Project, cluster: Any
) -> None:
    operator = {
        "driver": {"licensing": {"secret": "vgpu-licence", "service": "dls"}},
        "image_pull_secret": "ngc",
    }
    shared_project.write(addons(gpu_operator=operator))
    shared_project.run("up")
    core = client.CoreV1Api(cluster)
    core.create_namespaced_secret(
        "gpu-operator",
        {
            "metadata": {"name": "vgpu-licence"},
            "stringData": {"client_configuration_token.tok": "obviously-not-a-token"},
        },
    )
    shared_project.run("up", "--refresh")
    text = json.dumps(shared_project.engine.state(shared_project.stack))
    assert "vgpu-licence" in text
    assert "obviously-not-a-token" not in text
    policy = client.CustomObjectsApi(cluster).get_cluster_custom_object(
        "nvidia.com", "v1", "clusterpolicies", "cluster-policy"
    )
    licensing = policy["spec"]["driver"]["licensingConfig"]
    assert licensing == {"secretName": "vgpu-licence", "nlsEnabled": True}
    core.delete_namespaced_secret("vgpu-licence", "gpu-operator")


CLUSTER = """
import pulumi
from gpufleet import GpuAddons

made = GpuAddons("fleet", {args!r})
pulumi.export("configurations", made.configurations)
"""
NODES = """
import pulumi
from gpufleet import SimulatedGpuNodePool

cluster = pulumi.StackReference("organization/shared/{stack}")
args = {args!r}
SimulatedGpuNodePool(
    "pool", {{**args, "configurations": cluster.get_output("configurations")}}
)
"""


def test_a_pool_of_another_stack_may_only_use_what_the_add_ons_declare(
    shared_project: Project, cluster_project: MakeProject
) -> None:
    other = {**CUT, "sharing": {"mig": {"layouts": [{"devices": {"7g.80gb": 1}}]}}}
    args = {"catalogue": "2026.11", "platform": "sandbox", "pools": [CUT]}
    shared_project.write({"__main__.py": CLUSTER.format(args=args)})
    shared_project.run("up")

    def nodes(pool: dict[str, Any]) -> dict[str, str]:
        given = {"catalogue": "2026.11", "pool": pool, "name_prefix": "elsewhere"}
        return {"__main__.py": NODES.format(stack=shared_project.stack, args=given)}

    project = cluster_project(nodes(other), name="nodes")
    with pytest.raises(EngineError, match="configuration-not-declared"):
        project.run("up")
    project.write(nodes(CUT))
    result = project.run("up")
    assert kinds(result, "create").count("kubernetes:core/v1:Node") == 1
    project.run("destroy")
