"""Waiting for a node, emptying it and forgetting it, on a cluster that is a dictionary."""

import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet_vcenter import tasks
from gpufleet_vcenter.cluster_node import (
    CORDONED_BY,
    ClusterApi,
    ClusterNode,
    belongs,
    both_spellings,
)
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.settings import NodeSettings

BIOS = "4203a1b2-c3d4-e5f6-0718-293a4b5c6d7e"
MACHINE = "5f0d6c5e-0000-5000-8000-000000000001"


def settings(**access: Any) -> NodeSettings:
    return NodeSettings.model_validate(
        {
            "owner": "o/p/s/g/0",
            "generation": "0123456789ab",
            "endpoint": {"server": "vc.example.com"},
            "place": {"datacenter": "DC", "cluster": "C", "template": "t"},
            "name": "gpu-0",
            "cpus": 8,
            "memoryMib": 65_536,
            "gpu": {"mode": "dynamic", "deviceIds": ["20b5"], "count": 1},
            "gpuMemoryGib": 80,
            "kubernetes": {"kubeconfig": "/none", **access},
        }
    )


def pod(name: str, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}", **more},
        "status": {"phase": "Running"},
    }


class FakeCluster(ClusterApi):
    """One node and its pods; an evicted pod is gone at the next read."""

    def __init__(self, ready: str = "True", uuid_said: str = BIOS, **pods: dict[str, Any]) -> None:
        self.the_node: dict[str, Any] | None = {
            "metadata": {"name": "gpu-0", "uid": "uid-node", "annotations": {}},
            "spec": {},
            "status": {
                "conditions": [
                    {"type": "Ready", "status": ready, "reason": "Kubelet", "message": "says so"}
                ],
                "nodeInfo": {"systemUUID": uuid_said},
            },
        }
        self.all_pods = dict(pods)
        self.protected: set[str] = set()
        self.stubborn: set[str] = set()
        self.evicted: list[str] = []
        self.patches: list[Mapping[str, Any]] = []

    def node(self, name: str) -> Mapping[str, Any] | None:
        assert name == "gpu-0"
        return self.the_node

    def nodes(self) -> list[Mapping[str, Any]]:
        return [] if self.the_node is None else [self.the_node]

    def pods(self, node: str) -> list[Mapping[str, Any]]:
        return list(self.all_pods.values())

    def patch_node(self, name: str, patch: Mapping[str, Any]) -> None:
        self.patches.append(patch)
        assert self.the_node is not None
        self.the_node["spec"].update(patch["spec"])
        self.the_node["metadata"]["annotations"].update(patch["metadata"]["annotations"])

    def evict(self, pod: Mapping[str, Any]) -> bool:
        name = pod["metadata"]["name"]
        if name in self.protected:
            return False
        self.evicted.append(name)
        if name in self.stubborn:
            self.all_pods[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            del self.all_pods[name]
        return True

    def delete_node(self, node: Mapping[str, Any]) -> None:
        assert node["metadata"]["uid"] == "uid-node"
        self.the_node = None


class Clock:
    """Time that passes only in pauses, and no interrupt."""

    def __init__(self) -> None:
        self.now = 0.0

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def is_set(self) -> bool:
        return False

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Clock()
    monkeypatch.setattr(tasks, "time", known)
    monkeypatch.setattr(tasks, "CANCELLED", known)


def node(cluster: FakeCluster, **access: Any) -> ClusterNode:
    return ClusterNode(cluster, settings(**access), BIOS)


def refused(code: str, operation: Any) -> str:
    with pytest.raises(VsphereError) as caught:
        operation()
    assert caught.value.code == code
    return str(caught.value)


def test_a_node_is_cordoned_and_emptied_of_what_can_leave() -> None:
    daemon = pod("dcgm", ownerReferences=[{"kind": "DaemonSet", "controller": True}])
    static = pod("proxy", annotations={"kubernetes.io/config.mirror": "x"})
    finished = {**pod("job"), "status": {"phase": "Succeeded"}}
    cluster = FakeCluster(a=pod("a"), dcgm=daemon, proxy=static, job=finished)
    node(cluster).empty(MACHINE)
    assert cluster.evicted == ["a"]
    assert cluster.the_node is not None
    assert cluster.the_node["spec"]["unschedulable"] is True
    assert cluster.the_node["metadata"]["annotations"] == {CORDONED_BY: MACHINE}


def test_a_disruption_budget_is_respected_until_the_time_is_over() -> None:
    cluster = FakeCluster(a=pod("a"), b=pod("b"), c=pod("c"))
    cluster.protected, cluster.stubborn = {"b"}, {"c"}
    text = refused("vsphere-drain", lambda: node(cluster, drainSeconds=30).empty(MACHINE))
    assert "node gpu-0 was not empty after 30 s" in text
    assert "ml/b (a disruption budget keeps it), ml/c (is ending)" in text
    assert "gpu-0 still runs, and its node is cordoned" in text
    assert "kubernetes.whenNotDrained to remove" in text
    assert sorted(cluster.evicted) == ["a", "c"], "c is evicted once"


def test_a_drain_may_be_given_up() -> None:
    cluster = FakeCluster(b=pod("b"))
    cluster.protected = {"b"}
    node(cluster, drainSeconds=30, whenNotDrained="remove").empty(MACHINE)
    assert list(cluster.all_pods) == ["b"]


def test_a_node_that_does_not_answer_is_not_waited_for() -> None:
    cluster = FakeCluster(ready="Unknown", c=pod("c"))
    cluster.stubborn = {"c"}
    node(cluster, drainSeconds=3000).empty(MACHINE)
    assert cluster.evicted == ["c"]


def test_only_our_own_cordon_is_undone() -> None:
    ours = FakeCluster()
    node(ours).empty(MACHINE)
    node(ours).reopen("5f0d6c5e-0000-5000-8000-000000000002")
    assert ours.the_node is not None
    assert ours.the_node["spec"]["unschedulable"] is True
    node(ours).reopen(MACHINE)
    assert ours.the_node["spec"]["unschedulable"] is None
    assert ours.the_node["metadata"]["annotations"] == {CORDONED_BY: None}
    theirs = FakeCluster()
    assert theirs.the_node is not None
    theirs.the_node["spec"]["unschedulable"] = True
    node(theirs).empty(MACHINE)
    node(theirs).reopen(MACHINE)
    assert theirs.patches == []


def test_a_node_of_another_machine_is_never_touched() -> None:
    cluster = FakeCluster(uuid_said="99999999-c3d4-e5f6-0718-293a4b5c6d7e", a=pod("a"))
    node(cluster).empty(MACHINE)
    node(cluster).reopen(MACHINE)
    node(cluster).forget()
    assert cluster.the_node is not None
    assert (cluster.patches, cluster.evicted) == ([], [])
    text = refused("vsphere-timeout", lambda: node(cluster, readySeconds=5).await_ready())
    assert "the node of that name runs on another machine (systemUUID 99999999" in text


def test_a_node_is_waited_for_and_what_lacks_is_told() -> None:
    node(FakeCluster()).await_ready()
    text = refused(
        "vsphere-timeout", lambda: node(FakeCluster(ready="False"), readySeconds=5).await_ready()
    )
    assert "gpu-0 runs, and was no Ready node of its cluster after 5 s" in text
    assert "the node is not Ready: Kubelet says so" in text
    assert "kubernetes.readySeconds" in text
    absent = FakeCluster()
    absent.the_node = None
    text = refused("vsphere-timeout", lambda: node(absent, readySeconds=5).await_ready())
    assert "no node of that name has registered" in text
    assert "look at /var/log/cloud-init-output.log and the kubelet's log" in text
    coreos = settings(readySeconds=5).model_copy(update={"user_data_format": "ignition"})
    patient = ClusterNode(absent, coreos, BIOS)
    text = refused("vsphere-timeout", patient.await_ready)
    assert "approve the node's certificate signing requests (`oc get csr`, `oc adm cert" in text
    assert "cloud-init" not in text
    silent = FakeCluster()
    assert silent.the_node is not None
    silent.the_node["status"]["conditions"] = []
    text = refused("vsphere-timeout", lambda: node(silent, readySeconds=5).await_ready())
    assert "the node has not reported yet whether it is Ready" in text


def test_forgetting_is_idempotent() -> None:
    cluster = FakeCluster()
    node(cluster).forget()
    node(cluster).forget()
    node(cluster).empty(MACHINE)
    assert cluster.the_node is None


@given(st.uuids())
def test_both_byte_orders_are_the_same_machine(known: uuid.UUID) -> None:
    swapped = str(uuid.UUID(bytes_le=known.bytes))
    for said in (str(known), swapped, str(known).upper()):
        assert belongs({"status": {"nodeInfo": {"systemUUID": said}}}, str(known))
    assert both_spellings(str(known)) == both_spellings(swapped)
    other = str(uuid.UUID(int=known.int ^ 1))
    assert not belongs({"status": {"nodeInfo": {"systemUUID": other}}}, str(known))


def test_who_does_not_say_counts_as_ours() -> None:
    assert belongs({"status": {}}, BIOS)
    assert belongs({"status": {"nodeInfo": {"systemUUID": "x"}}}, "")
    assert both_spellings("not a uuid") == {"not a uuid"}
