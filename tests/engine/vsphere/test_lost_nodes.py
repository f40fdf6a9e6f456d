"""Machines whose nodes stay NotReady: made anew where that is declared."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created, read
from tests.engine.vsphere.played_cluster import PlayedCluster, played_cluster

pytestmark = UNCLOSED


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[PlayedCluster]:
    """gpu-1 and five nodes that are Ready."""
    with played_cluster(tmp_path) as played:
        for name in ("gpu-1", *(f"node-{number}" for number in range(5))):
            played.register(name)
        yield played


def node(cloud: Vcenter, cluster: PlayedCluster, minutes: float | None = 20.0) -> dict[str, Any]:
    more = {} if minutes is None else {"replaceNotReadyMinutes": minutes}
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
