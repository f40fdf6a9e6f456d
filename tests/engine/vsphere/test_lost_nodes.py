"""Machines whose nodes stay NotReady: replaced where that is declared."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, USER, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created, read
from tests.engine.vsphere.played_cluster import PlayedCluster, played_cluster
from tests.engine.vsphere.test_group import PROGRAM

pytestmark = UNCLOSED
PLACE = '"compute_cluster": "DC0_C0",'
KUBERNETES = '"kubernetes": {"kubeconfig": given["kubeconfig"]},'


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PlayedCluster]:
    """gpu-1 and five nodes that are Ready."""
    with played_cluster(tmp_path) as played:
        for name in ("gpu-1", *(f"node-{number}" for number in range(5))):
            played.register(name)
        yield played


def node(cloud: Vcenter, cluster: PlayedCluster, minutes: float | None = 20.0) -> dict[str, Any]:
    more: dict[str, Any] = {} if minutes is None else {"replaceNotReadyMinutes": minutes}
    return cloud.node(1, kubernetes={"kubeconfig": cluster.kubeconfig}, **more)


def test_a_machine_whose_node_is_lost_is_made_anew(cloud: Vcenter, cluster: PlayedCluster) -> None:
    wanted = node(cloud, cluster)
    outs = created(wanted)
    cluster.lose("gpu-1", 19)
    assert read(outs)["drifted"] == {}, "not long enough"
    cluster.lose("gpu-1", 21)
    seen = read(outs)
    assert seen["drifted"]["nodeReady"].startswith("not since 20")
    found = PROVIDER.diff(outs["instanceUuid"], seen, wanted)
    assert (found.changes, found.replaces) == (True, ["nodeReady"])
    PROVIDER.delete(outs["instanceUuid"], seen)
    assert "gpu-1" not in cluster.nodes
    cluster.register("gpu-1")
    new = created(wanted)
    assert (new["moRef"] != outs["moRef"], new["drifted"]) == (True, {})
    assert read(new)["drifted"] == {}


def test_nothing_is_made_anew_unless_it_is_declared(cloud: Vcenter, cluster: PlayedCluster) -> None:
    outs = created(node(cloud, cluster, None))
    cluster.lose("gpu-1", 10_000)
    assert read(outs)["drifted"] == {}


def test_a_cluster_that_is_disturbed_replaces_nothing(
    cloud: Vcenter, cluster: PlayedCluster
) -> None:
    """4 of 6 nodes: more than 55 %."""
    outs = created(node(cloud, cluster))
    for name in ("gpu-1", "node-0", "node-1", "node-2"):
        cluster.lose(name, 60)
    assert read(outs)["drifted"] == {}


def test_a_machine_that_could_not_be_made_again_stays(other: Made, cluster: PlayedCluster) -> None:
    cloud = other(hosts=1, gpus=1)
    wanted = node(cloud, cluster)
    outs = created(wanted)
    cluster.lose("gpu-1", 60)
    with cloud.service() as service:
        host = service.content.rootFolder.childEntity[0].hostFolder.childEntity[0].host[0]
        host.EnterMaintenanceMode_Task(0)
    seen = read(outs)
    assert "nodeReady" not in seen["drifted"]
    (warning,) = (text for text in seen["warnings"] if "not Ready" in text)
    assert "a new machine is not possible: vsphere-gpu-capacity" in warning


def test_an_update_that_refreshes_replaces_the_lost_one(
    project: Callable[..., Project], cloud: Vcenter, cluster: PlayedCluster
) -> None:
    """The other machine, and the update without a refresh, see nothing of it."""
    cluster.joins = {"gpu-train-0", "gpu-train-1"}
    shape = {"cpus": 8, "memory_gib": 64, "template": "gpu-template"}
    pool = {
        "name": "train",
        "gpu": "A100-80GB",
        "nodes": {"min": 2, "max": 2},
        "vsphere": {**shape, "replace_not_ready_minutes": 20},
    }
    given = {"pool": pool, "port": cloud.proxy.port, "token": "t", "kubeconfig": cluster.kubeconfig}
    program = PROGRAM.replace(PLACE, PLACE + KUBERNETES)
    made = project({"__main__.py": program, "given.json": json.dumps(given)})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    made.run("up")
    before = cloud.machines()
    cluster.lose("gpu-train-1", 30)
    made.run("up", "--refresh")
    after = cloud.machines()
    gone, new = before.keys() - after.keys(), after.keys() - before.keys()
    assert [name.split()[0] for name in (*gone, *new)] == ["gpu-train-1", "gpu-train-1"]
    made.run("up", "--refresh")
    assert cloud.machines() == after, "once"
    made.run("destroy")
