"""An interrupt (Ctrl-C, which the engine passes on as Cancel) ends every wait at once, and no
destructive operation follows an interrupted wait."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.group_provider import VsphereGpuNodeOwnerProvider
from gpufleet_vcenter.identity import PENDING
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter
from tests.engine.vsphere.direct import (
    PROVIDER,
    UNCLOSED,
    Applied,
    Made,
    created,
    group_inputs,
    owner_inputs,
    refused,
)
from tests.engine.vsphere.played_cluster import PlayedCluster, played_cluster
from tests.engine.vsphere.test_group import PROGRAM
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
OWNER_PROVIDER = VsphereGpuNodeOwnerProvider()
SOON = 15.0
"""Seconds within which an interrupted call ends on the busiest machine; the waits are minutes."""
DESTRUCTIVE = {"PowerOffVM_Task", "ShutdownGuest", "Destroy_Task"}


@contextmanager
def interrupted_when(happens: Callable[[], bool]) -> Iterator[None]:
    """Interrupt the update as soon as this happens; what the block does then ends soon."""
    over, moment = threading.Event(), [0.0]

    def watch() -> None:
        while not over.wait(0.05):
            if happens():
                over.wait(1.0)
                moment[0] = time.monotonic()
                CANCELLED.set()
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
        ended = time.monotonic()
    finally:
        over.set()
        watcher.join()
        CANCELLED.clear()
    assert moment[0], "it never came so far"
    assert ended - moment[0] < SOON


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedCluster]:
    with played_cluster(tmp_path) as found:
        yield found


@pytest.mark.parametrize("policy", ["remove", "refuse"])
def test_a_drain_that_is_interrupted_is_no_drain_that_took_too_long(
    cloud: Vcenter, played: PlayedCluster, policy: str
) -> None:
    access = {"kubeconfig": played.kubeconfig, "drainSeconds": 600.0, "whenNotDrained": policy}
    played.joins.add("gpu-1")
    outs = created(cloud.node(1, kubernetes=access))
    played.pods["server"] = "gpu-1"
    played.protected.add("server")
    cloud.proxy.reset()
    with interrupted_when(lambda: played.unschedulable("gpu-1")):
        text = refused("vsphere-interrupted", lambda: PROVIDER.delete(outs["instanceUuid"], outs))
    assert "emptying node gpu-1: the update was interrupted" in text
    assert "gpu-1 still runs" in text
    assert "600" not in text
    assert cloud.proxy.changing == {}, "neither off nor gone"
    assert "gpu-1" in played.nodes
    played.protected.clear()
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []


def test_a_soft_shutdown_that_is_interrupted_is_followed_by_nothing(cloud: Vcenter) -> None:
    outs = created(cloud.node(1, deletePolicy="trySoft", timeouts={"shutdown": 300.0}))

    def running(answer: bytes) -> bytes:
        """As a guest with VMware tools, which vcsim does not have."""
        return answer.replace(b"guestToolsNotRunning", b"guestToolsRunning")

    # The guest shuts down for longer than the test waits: the call reaches no machine.
    ignored = Rule(
        Action.REWRITE,
        "ShutdownGuest",
        nth=0,
        rewrite=lambda body: body.replace(b"ShutdownGuest", b"RefreshStorageInfo"),
    )
    cloud.proxy.reset(
        [
            ignored,
            *(
                Rule(Action.REWRITE_REPLY, method, nth=0, rewrite=running)
                for method in ("RetrievePropertiesEx", "RetrieveProperties")
            ),
        ]
    )
    with interrupted_when(lambda: cloud.proxy.calls["ShutdownGuest"] > 0):
        text = refused("vsphere-interrupted", lambda: PROVIDER.delete(outs["instanceUuid"], outs))
    assert "waiting for gpu-1: the update was interrupted" in text
    assert "gpu-1 (vm-" in text
    assert cloud.proxy.changing == {"ShutdownGuest": 1}
    assert len(cloud.owned()) == 1
    cloud.proxy.reset()
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []


@pytest.fixture
def slow(other: Made) -> Vcenter:
    """Clones take 40 seconds."""
    return other(hosts=1, method_delay_ms={"CloneVm": 40_000, "LockHandoff": 0})


def test_a_clone_that_is_interrupted_is_taken_up_by_the_next_run(slow: Vcenter) -> None:
    node = slow.node(1)
    with interrupted_when(lambda: slow.proxy.calls["CloneVM_Task"] > 0):
        text = refused("vsphere-interrupted", lambda: created(node))
    assert "cloning gpu-1 from gpu-template: the update was interrupted" in text
    assert "the next run adopts the machine" in text
    assert slow.owned() == []
    assert created(node)["adopted"] is True
    assert slow.proxy.calls["CloneVM_Task"] == 1
    assert len(slow.owned()) == 1


def test_a_clone_that_is_interrupted_goes_with_its_group(slow: Vcenter) -> None:
    """Ctrl-C while machines are cloned, and then `pulumi destroy`: the state has the group's id."""
    made = OWNER_PROVIDER.create(owner_inputs(slow))
    given = {**group_inputs(slow, 1, 2), "life": made.id}
    with interrupted_when(lambda: slow.proxy.calls["CloneVM_Task"] == 2):
        text = refused("vsphere-interrupted", lambda: Applied().up(given))
    assert "cloning gpu-1 from gpu-template: the update was interrupted" in text
    assert not DESTRUCTIVE & slow.proxy.changing.keys()
    OWNER_PROVIDER.delete(str(made.id), made.outs or {})
    assert slow.owned() == []
    time.sleep(1)
    assert slow.owned() == [], "and none comes afterwards"
    assert slow.proxy.calls["Destroy_Task"] == 2


def test_the_engine_ends_soon_after_an_interrupt_and_a_destroy_leaves_nothing(
    project: Callable[..., Project], slow: Vcenter
) -> None:
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})
    machine = {"cpus": 8, "memory_gib": 64, "template": "gpu-template"}
    pool = {"name": "train", "gpu": "A100-80GB", "nodes": {"min": 2, "max": 2}, "vsphere": machine}
    known = {"pool": pool, "port": slow.proxy.port, "token": SECRET}
    made.write({"given.json": json.dumps(known)})
    moment: list[float] = []

    def interrupt() -> None:
        """Ctrl-C once the second clone is on its way."""
        while slow.proxy.calls["CloneVM_Task"] < 2:
            time.sleep(0.1)
        time.sleep(1)
        moment.append(time.monotonic())
        for engine in psutil.Process().children():
            if engine.name() == "pulumi":
                engine.send_signal(signal.SIGINT)

    watcher = threading.Thread(target=interrupt, daemon=True)
    watcher.start()
    result = made.run("up", check=False)
    watcher.join()
    assert result.status != 0
    assert time.monotonic() - moment[0] < 25, "a clone takes 40"
    assert "vsphere-interrupted" in "".join(result.errors)
    made.run("destroy")
    assert slow.owned() == []


def test_a_machine_that_is_half_made_stays_where_the_update_was_interrupted(cloud: Vcenter) -> None:
    """A failure removes what it made, and an interrupt nothing."""
    cloud.proxy.reset([Rule(Action.AFTER, "ReconfigVM_Task", nth=1, do=CANCELLED.set)])
    try:
        refused("vsphere-interrupted", lambda: created(cloud.node(1)))
    finally:
        CANCELLED.clear()
    assert not DESTRUCTIVE & cloud.proxy.changing.keys()
    with cloud.machine("gpu-1") as machine:
        assert any(entry.key == PENDING and entry.value for entry in machine.config.extraConfig)
    cloud.proxy.reset()
    assert created(cloud.node(1))["adopted"] is True
    assert cloud.proxy.calls["CloneVM_Task"] == 0
