"""From an empty account to a pod on a GPU in one update, and back; the example as it is.

The simulated clouds refuse what a cloud refuses to an empty account: machines without a route out,
without their role's policies or without a network plugin do not join. Machines that join are Node
objects of the sandbox's cluster.
"""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from gpufleet_sandbox.cloud.scenario import Disturbance
from gpufleet_sandbox.sandbox import Sandbox
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.clouds import Clouds
from tests.engine.test_eks_examples import copied
from tests.engine.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.sandbox]

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "eks-from-nothing": ROOT / "examples" / "eks-from-nothing",
    "gke-from-nothing": ROOT / "examples" / "gke-from-nothing",
    "gke-gpudirect": ROOT / "examples" / "gke-gpudirect",
}
CHARTS = str(files("gpufleet_sandbox") / "charts")
MINE = json.dumps(["203.0.113.7/32"])
SETTINGS: dict[str, dict[str, Any]] = {
    "eks-from-nothing": {"publicAccessCidrs": MINE, "charts": CHARTS},
    **{
        name: {"project": "stand-in", "publicAccessCidrs": MINE, "charts": CHARTS}
        for name in ("gke-from-nothing", "gke-gpudirect")
    },
}
SHARED = {"eks-from-nothing": "nvidia.com/gpu.shared", "gke-from-nothing": "nvidia.com/gpu"}


@pytest.fixture
def empty(
    cloud_cluster_project: Callable[..., Any], clouds: Clouds, sandbox: Sandbox
) -> Callable[[str], Any]:
    """The example in its own project, without a cluster in its environment."""
    clouds.folder.behind(sandbox.layout)

    def make(name: str) -> Any:
        project = cloud_cluster_project({}, name=f"gpufleet-{name}")
        del project.engine.env["KUBECONFIG"]
        return copied(project, EXAMPLES[name], SETTINGS[name])

    return make


def placed(core: client.CoreV1Api) -> str:
    """Node of the example's pod."""
    pod = core.read_namespaced_pod("first", "default")
    assert pod.status.phase == "Running"
    return pod.spec.node_name


@pytest.mark.parametrize("name", SHARED)
def test_from_nothing_to_a_pod_on_a_gpu_and_back(
    name: str, empty: Callable[[str], Any], clouds: Clouds, core: client.CoreV1Api
) -> None:
    project = empty(name)
    project.run("up")
    node = core.read_node(placed(core))
    assert int(node.status.allocatable[SHARED[name]]) == 2
    project.run("preview", "--expect-no-changes")
    project.run("destroy")
    assert clouds.resources() == []
    left = core.list_node(label_selector="sandbox.gpufleet.dev/machines-of").items
    assert [one.metadata.name for one in left] == []


def test_a_cluster_with_the_networks_of_gpudirect(
    empty: Callable[[str], Any], clouds: Clouds
) -> None:
    project = empty("gke-gpudirect")
    project.run("up")
    (config,) = [
        one.outputs["networkConfig"]["additionalNodeNetworkConfigs"]
        for one in clouds.resources()
        if one.type == "gcp:container/nodePool:NodePool" and one.outputs["name"] == "ml-training"
    ]
    vpc = "gcp:compute/network:Network"
    made = {one.outputs["name"]: one for one in clouds.resources() if one.type == vpc}
    assert [one["network"] for one in config] == [f"ml-vpc{number}" for number in range(1, 9)]
    assert {one["network"] for one in config} <= set(made)
    assert made["ml-vpc1"].outputs["mtu"] == 8244
    project.run("preview", "--expect-no-changes")
    project.run("destroy")
    assert clouds.resources() == []


HALF_WAY = {
    "eks-from-nothing": ("aws:eks/nodeGroup:NodeGroup", "ml-system"),
    "gke-from-nothing": ("gcp:container/nodePool:NodePool", "ml-system"),
}
"""State of a killed update: network and control plane exist, and no node."""


@pytest.mark.killed_engines
@pytest.mark.parametrize("name", SHARED)
def test_an_update_that_was_killed_half_way_is_finished_by_the_next(
    name: str, empty: Callable[[str], Any], clouds: Clouds, core: client.CoreV1Api
) -> None:
    project = empty(name)
    token, resource = HALF_WAY[name]
    clouds.disturb(
        Disturbance(operation="create", type=token, name=resource, then="hang", seconds=15)
    )
    log = project.folder / "update.log"
    with log.open("wb") as output:
        command = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive"]
        engine = subprocess.Popen(
            [*command, "--stack", project.stack],
            cwd=project.folder,
            env=project.engine.env,
            stdout=output,
            stderr=output,
        )
    until(lambda: f"{resource} creating" in log.read_text(), log.read_text)
    time.sleep(1)  # the call has reached the cloud
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    made = {(one.type, one.id) for one in clouds.resources()}
    assert made
    clouds.calm()
    release_stale_lock(project.engine, project.stack)
    project.run("up")
    placed(core)
    after = {(one.type, one.id) for one in clouds.resources()}
    assert made <= after, "nothing that was made is made again"
    assert len([one for one in clouds.resources() if one.type == token]) == 2
    project.run("destroy")
    assert clouds.resources() == []
