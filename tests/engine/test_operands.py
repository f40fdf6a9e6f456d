"""The operand simulators on the real API server, scheduler and kwok of the sandbox."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.node_watch import nvidia_resources, watching
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

OPERATOR = "operands-under-test"
MIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
KEY = "nvidia.com/device-plugin.config"
POLICY = ("nvidia.com", "v1", "clusterpolicies")
LAYOUTS = """\
version: v1
mig-configs:
  notebooks:
  - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}
  - {devices: [1], mig-enabled: true, mig-devices: {3g.40gb: 1, 2g.20gb: 2}}
  halves:
  - {devices: all, mig-enabled: true, mig-devices: {3g.40gb: 2}}
  impossible:
  - {devices: all, mig-enabled: true, mig-devices: {3g.40gb: 2, 1g.10gb: 1}}
"""
SLICED = """\
version: v1
sharing:
  timeSlicing:
    renameByDefault: true
    resources: [{name: nvidia.com/gpu, replicas: 10}]
"""
SPEC: dict[str, Any] = {
    **{key: {} for key in ("operator", "daemonsets", "driver", "toolkit", "dcgm")},
    **{key: {} for key in ("dcgmExporter", "gfd", "nodeStatusExporter")},
    "devicePlugin": {"config": {"name": "plugin", "default": ""}},
    "migManager": {"config": {"name": "layouts"}},
    "mig": {"strategy": "mixed"},
}


class Cluster:
    """Nodes and pods of one test module."""

    def __init__(self, api: Any) -> None:
        self.core = client.CoreV1Api(api)
        self.apps = client.AppsV1Api(api)
        self.custom = client.CustomObjectsApi(api)

    def deployment(self, name: str) -> None:
        labels = {"app.kubernetes.io/name": name}
        self.apps.create_namespaced_deployment(
            OPERATOR,
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": labels},
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {"containers": [{"name": "c", "image": "none"}]},
                    },
                },
            },
        )

    def node(self, name: str, gpu: dict[str, Any], labels: dict[str, str]) -> None:
        hardware = {"gpus": [gpu], "cpu": "96", "memory": "1152Gi", "driver": "580.95.05"}
        self.core.create_node(
            {
                "metadata": {
                    "name": name,
                    "labels": {"gpufleet.dev/simulated": "true", **labels},
                    "annotations": {"sandbox.gpufleet.dev/hardware": json.dumps(hardware)},
                }
            }
        )

    def label(self, name: str, key: str, value: str) -> None:
        self.core.patch_node(name, {"metadata": {"labels": {key: value}}})

    def labels(self, name: str) -> dict[str, str]:
        return self.core.read_node(name).metadata.labels

    def gpus(self, name: str) -> dict[str, str]:
        allocatable = self.core.read_node(name).status.allocatable or {}
        return {k: v for k, v in allocatable.items() if k.startswith("nvidia.com/")}

    def pod(self, namespace: str, name: str, node: str, resource: str) -> None:
        self.core.create_namespaced_pod(
            namespace,
            {
                "metadata": {"name": name},
                "spec": {
                    "nodeSelector": {"pool": node},
                    "terminationGracePeriodSeconds": 0,
                    "containers": [
                        {"name": "c", "image": "none", "resources": {"limits": {resource: "1"}}}
                    ],
                },
            },
        )

    def phases(self, namespace: str) -> dict[str, str]:
        pods = self.core.list_namespaced_pod(namespace).items
        return {pod.metadata.name: pod.status.phase for pod in pods}

    def occupied(self, node: str) -> list[str]:
        pods = self.core.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={node}").items
        return [pod.metadata.name for pod in pods if pod.metadata.namespace != OPERATOR]

    def unschedulable(self, namespace: str, name: str) -> str:
        conditions = self.core.read_namespaced_pod(name, namespace).status.conditions or []
        return next((c.message or "" for c in conditions if c.reason == "Unschedulable"), "")

    def reasons(self, node: str) -> set[str]:
        """Reasons of the events of a node."""
        about = f"involvedObject.name={node}"
        events = self.core.list_namespaced_event("default", field_selector=about).items
        return {event.reason for event in events}

    def policy_state(self) -> str:
        found = self.custom.get_cluster_custom_object(*POLICY, "cluster-policy")
        return found.get("status", {}).get("state", "")


@pytest.fixture(scope="module")
def fleet(sandbox: Sandbox) -> Iterator[Cluster]:
    from kubernetes import config

    with config.new_client_from_config(str(sandbox.kubeconfig)) as api:
        fleet = Cluster(api)
        fleet.core.create_namespace({"metadata": {"name": OPERATOR}})
        for name, data in (
            ("layouts", {"config.yaml": LAYOUTS}),
            ("plugin", {"ten": SLICED, "whole": "version: v1"}),
        ):
            body = {"metadata": {"name": name}, "data": data}
            fleet.core.create_namespaced_config_map(OPERATOR, body)
        for name in ("gpu-operator", "node-feature-discovery"):
            fleet.deployment(name)
        policy = {
            "apiVersion": "nvidia.com/v1",
            "kind": "ClusterPolicy",
            "metadata": {"name": "cluster-policy"},
            "spec": SPEC,
        }
        fleet.custom.create_cluster_custom_object(*POLICY, policy)
        a100 = {"product": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920, "count": 2}
        fleet.node("operands-a100", a100, {"pool": "a100", MIG: "notebooks"})
        l4 = {"product": "NVIDIA L4", "memoryMiB": 23034, "count": 1}
        fleet.node("operands-l4", l4, {"pool": "l4", KEY: "ten"})
        yield fleet
        fleet.custom.delete_cluster_custom_object(*POLICY, "cluster-policy")
        for name in ("operands-a100", "operands-l4"):
            fleet.core.delete_node(name)
        fleet.core.delete_namespace(OPERATOR)


def test_nodes_advertise_what_their_labels_ask_for(fleet: Cluster) -> None:
    until(lambda: fleet.labels("operands-a100").get(STATE) == "success", "MIG success")
    assert fleet.gpus("operands-a100") == {
        "nvidia.com/mig-1g.10gb": "7",
        "nvidia.com/mig-2g.20gb": "2",
        "nvidia.com/mig-3g.40gb": "1",
    }
    labels = fleet.labels("operands-a100")
    assert labels["nvidia.com/mig-1g.10gb.count"] == "7"
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB"
    assert labels["nvidia.com/mig.strategy"] == "mixed"
    shared = {"nvidia.com/gpu.shared": "10"}
    until(lambda: fleet.gpus("operands-l4") == shared, "the L4 is shared ten ways")
    assert fleet.labels("operands-l4")["nvidia.com/gpu.replicas"] == "10"
    node = fleet.core.read_node("operands-a100")
    assert node.status.capacity["memory"] == "1152Gi"
    until(lambda: fleet.policy_state() == "ready", "ClusterPolicy ready")


def test_pods_fill_the_slices_and_one_more_stays_pending(fleet: Cluster, namespace: str) -> None:
    until(lambda: "nvidia.com/mig-2g.20gb" in fleet.gpus("operands-a100"), "slices")
    for number in range(3):
        fleet.pod(namespace, f"notebook-{number}", "a100", "nvidia.com/mig-2g.20gb")
    until(
        lambda: sorted(fleet.phases(namespace).values()) == ["Pending", "Running", "Running"],
        "two of three pods run",
    )
    (waiting,) = [name for name, phase in fleet.phases(namespace).items() if phase == "Pending"]
    reason = until(lambda: fleet.unschedulable(namespace, waiting), "the scheduler's reason")
    assert "Insufficient nvidia.com/mig-2g.20gb" in reason


def test_a_whole_gpu_request_finds_no_place_on_shared_gpus(fleet: Cluster, namespace: str) -> None:
    until(lambda: "nvidia.com/gpu.shared" in fleet.gpus("operands-l4"), "the shared resource")
    fleet.pod(namespace, "whole", "l4", "nvidia.com/gpu")
    fleet.pod(namespace, "share", "l4", "nvidia.com/gpu.shared")
    until(lambda: fleet.phases(namespace)["share"] == "Running", "the share runs")
    reason = until(lambda: fleet.unschedulable(namespace, "whole"), "the scheduler's reason")
    assert "Insufficient nvidia.com/gpu" in reason


def test_a_layout_changes_only_on_an_empty_node(fleet: Cluster, namespace: str) -> None:
    until(lambda: "nvidia.com/mig-3g.40gb" in fleet.gpus("operands-a100"), "slices")
    before = fleet.gpus("operands-a100")
    fleet.pod(namespace, "user", "a100", "nvidia.com/mig-3g.40gb")
    until(lambda: fleet.phases(namespace) == {"user": "Running"}, "the pod runs")
    fleet.label("operands-a100", MIG, "halves")
    until(lambda: fleet.labels("operands-a100")[STATE] == "failed", "failed next to a pod")
    until(lambda: fleet.gpus("operands-a100") == before, "the old layout is back")
    fleet.core.delete_namespaced_pod("user", namespace)
    until(lambda: not fleet.occupied("operands-a100"), "no pod of any test is left")
    fleet.label("operands-a100", MIG, "notebooks")
    until(lambda: fleet.labels("operands-a100")[STATE] == "success", "the old name again")

    node, halves = "operands-a100", {"nvidia.com/mig-3g.40gb": "4"}
    with watching(fleet.core, state_and_gpus, field_selector=f"metadata.name={node}") as seen:
        fleet.label(node, MIG, "halves")
        seen.reaches(lambda now: now[node] == ("success", halves))
    between = seen.of(node)
    assert any(state == "pending" for state, _ in between), between
    assert any(set(gpus.values()) == {"0"} for _, gpus in between), "nothing is offered meanwhile"
    assert [gpus for state, gpus in between if state == "success"][-1] == halves
    assert "nvidia.com/mig-1g.10gb.count" not in fleet.labels(node)
    told = {"MigPending", "MigSuccess", "MigFailed"}
    until(lambda: told <= fleet.reasons(node), lambda: fleet.reasons(node))


def state_and_gpus(node: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    return node["metadata"]["labels"][STATE], nvidia_resources(node)


def test_an_impossible_layout_fails_on_the_node(fleet: Cluster, namespace: str) -> None:
    fleet.label("operands-a100", MIG, "impossible")
    until(lambda: fleet.labels("operands-a100")[STATE] == "failed", "failed")
    # The first GPU was emptied before its layout proved impossible; the second was not reached.
    until(lambda: fleet.gpus("operands-a100") == {"nvidia.com/mig-3g.40gb": "2"}, "half is lost")
    fleet.pod(namespace, "user", "a100", "nvidia.com/mig-1g.10gb")
    reason = until(lambda: fleet.unschedulable(namespace, "user"), "the scheduler's reason")
    assert "Insufficient nvidia.com/mig-1g.10gb" in reason
    fleet.label("operands-a100", MIG, "notebooks")
    until(lambda: fleet.labels("operands-a100")[STATE] == "success", "success again")


def test_a_key_that_does_not_exist_shows_on_node_and_policy(fleet: Cluster) -> None:
    fleet.label("operands-l4", KEY, "eleven")
    until(lambda: fleet.gpus("operands-l4") == {}, "no resource")
    until(lambda: fleet.policy_state() == "notReady", "ClusterPolicy notReady")
    fleet.label("operands-l4", KEY, "whole")
    until(lambda: fleet.gpus("operands-l4") == {"nvidia.com/gpu": "1"}, "the whole GPU")
    until(lambda: fleet.policy_state() == "ready", "ClusterPolicy ready")


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"bogus": {}}, "unknown field in spec: bogus"),
        ({"mig": {"stategy": "mixed"}}, "unknown field in spec.mig: stategy"),
        (
            {"migManager": {"env": [{"name": "A", "valu": "b"}]}},
            "spec.migManager.env[] has an unknown field; known are name, value",
        ),
        ({"mig": {"strategy": "dual"}}, 'Unsupported value: "dual"'),
        ({"migManager": {"config": {"default": "all-balanced"}}}, "Unsupported value"),
        ({"driver": {"upgradePolicy": {"maxParallelUpgrades": -1}}}, "greater than or equal to 0"),
    ],
)
def test_the_definition_refuses_instead_of_dropping(
    fleet: Cluster, section: dict[str, Any], reason: str
) -> None:
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "strict"},
        "spec": SPEC | section,
    }
    with pytest.raises(client.ApiException) as refused:
        fleet.custom.create_cluster_custom_object(*POLICY, policy, dry_run="All")
    assert reason in json.loads(refused.value.body)["message"]
