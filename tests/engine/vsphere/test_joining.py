"""From a running machine to a Ready node, and back: the requests to vCenter for it."""

from pathlib import Path
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.guest_data import JOINED_KEY, USER_DATA_KEYS
from tests.engine.vcenter_fixture import SECRET, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, finished, read, refused
from tests.engine.vsphere.played_cluster import PlayedCluster, played_cluster
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def first_boot_data(cloud: Vcenter, name: str = "gpu-1") -> list[str]:
    with cloud.machine(name) as machine:
        keys = {entry.key: entry.value for entry in machine.config.extraConfig}
    return [key for key in USER_DATA_KEYS if keys.get(key)]


def says_joined(cloud: Vcenter) -> None:
    with cloud.machine("gpu-1") as machine:
        done = vim.option.OptionValue(key=JOINED_KEY, value="done")
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=[done])))


def test_secret_data_goes_once_the_guest_has_joined(cloud: Vcenter) -> None:
    cloud.proxy.reset([Rule(Action.AFTER, "PowerOnMultiVM_Task", do=lambda: says_joined(cloud))])
    outs = created(cloud.node(1, waitFor="joined"))
    assert first_boot_data(cloud) == []
    assert read(outs)["drifted"] == {}
    assert PROVIDER.diff(outs["instanceUuid"], outs, cloud.node(1, waitFor="joined")).changes is (
        False
    )


def test_secret_data_stays_where_nobody_knows_whether_it_was_read(cloud: Vcenter) -> None:
    created(cloud.node(1))
    assert "guestinfo.userdata" in first_boot_data(cloud)


def test_a_guest_that_does_not_join_is_told(cloud: Vcenter) -> None:
    hasty = cloud.node(1, waitFor="joined", timeouts={"address": 1})
    text = refused("vsphere-timeout", lambda: created(hasty))
    assert "guestinfo.gpufleet.join is not set" in text
    assert len(cloud.owned()) == 1, "it runs, and may join yet"


def test_data_that_comes_back_is_cleared_until_it_is_gone(cloud: Vcenter) -> None:
    joined = Rule(Action.AFTER, "PowerOnMultiVM_Task", do=lambda: says_joined(cloud))
    busy = [
        Rule(Action.FAULT, "ReconfigVM_Task", nth=nth, fault="ConcurrentAccess") for nth in (2, 3)
    ]
    cloud.proxy.reset([joined, *busy])
    created(cloud.node(1, waitFor="joined"))
    assert first_boot_data(cloud) == []
    cloud.remove_owned()
    always = [
        Rule(Action.FAULT, "ReconfigVM_Task", nth=n, fault="ConcurrentAccess") for n in range(2, 9)
    ]
    cloud.proxy.reset([joined, *always])
    text = refused("vsphere-conflict", lambda: created(cloud.node(1, waitFor="joined")))
    assert "the value of guestinfo.userdata, " in text
    assert "in gpu-1 still differs after 4 changes" in text


@pytest.fixture
def cluster(tmp_path: Path) -> Any:
    with played_cluster(tmp_path) as found:
        yield found


def node_of(cloud: Vcenter, cluster: PlayedCluster, **more: Any) -> dict[str, Any]:
    access = {"kubeconfig": cluster.kubeconfig, "readySeconds": 180.0, "drainSeconds": 180.0}
    return cloud.node(1, kubernetes={**access, **more}, updatePolicy="restart")


def test_a_life_in_a_cluster(cloud: Vcenter, cluster: PlayedCluster) -> None:
    node = node_of(cloud, cluster)
    registers = Rule(Action.AFTER, "PowerOnMultiVM_Task", do=lambda: cluster.register("gpu-1"))
    cloud.proxy.reset([registers])
    outs = created(node)
    assert first_boot_data(cloud) == [], "the node is Ready, so its guest has read everything"
    assert cluster.token not in str(outs)
    assert SECRET not in str(outs)

    cluster.pods["train"] = "gpu-1"
    larger = {**node, "cpus": 16.0}
    outs = PROVIDER.update(outs["instanceUuid"], outs, larger).outs or {}
    assert outs["cpus"] == 16
    assert cluster.evicted == ["train"]
    assert cluster.unschedulable("gpu-1") is False, "opened again after the restart"

    cluster.pods["kept"] = "gpu-1"
    cluster.protected.add("kept")
    hasty = {**outs, "kubernetes": {**node["kubernetes"], "drainSeconds": 1.0}}
    text = refused("vsphere-drain", lambda: PROVIDER.delete(outs["instanceUuid"], hasty))
    assert "ml/kept (a disruption budget keeps it)" in text
    assert len(cloud.owned()) == 1
    assert cluster.unschedulable("gpu-1") is True
    cluster.protected.clear()
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []
    assert cluster.nodes == {}
    PROVIDER.delete(outs["instanceUuid"], outs)


def test_a_machine_that_went_leaves_no_node(cloud: Vcenter, cluster: PlayedCluster) -> None:
    """A run that was killed between removing the machine and forgetting the node."""
    node = node_of(cloud, cluster)
    cluster.register("gpu-1")
    outs = created(node)
    cluster.pods["train"] = "gpu-1"
    cloud.remove_owned()
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cluster.nodes == {}
    assert cluster.evicted == [], "nothing runs there"


def test_a_node_that_is_late_stays(cloud: Vcenter, cluster: PlayedCluster) -> None:
    text = refused("vsphere-timeout", lambda: created(node_of(cloud, cluster, readySeconds=1.0)))
    assert "was no Ready node of its cluster after 1 s: no node of that name has registered" in text
    assert "runs and stays: the next `pulumi up` waits for it again" in text
    assert len(cloud.owned()) == 1
