"""The real control plane: it comes up, repairs itself, schedules, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import yaml

from gpufleet_sandbox import Sandbox, SandboxError, ports, processes
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.state import SandboxState
from gpufleet_sandbox.status import PodStatus
from tests.engine.waiting import until

pytestmark = pytest.mark.sandbox

CONTROL_PLANE = ("kube-controller-manager", "kube-scheduler", "kwok")
"""With their dependencies: everything but the operands, which have separate tests."""

NODE = """
apiVersion: v1
kind: Node
metadata: {name: NAME}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default}
spec:
  template:
    metadata: {annotations: {sandbox.gpufleet.dev/run-for: "50ms"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: none}]}
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("control-plane")) as sandbox:
        yield sandbox


@pytest.fixture
def running(sandbox: Sandbox) -> Sandbox:
    return sandbox.up(CONTROL_PLANE)


def server(sandbox: Sandbox) -> ApiServer:
    state = SandboxState.load(sandbox.layout.state)
    keys = Certificates(sandbox.layout.certificates)
    return ApiServer(state.ports["kube-apiserver"], keys)


def pids(sandbox: Sandbox) -> dict[str, int]:
    return {name: r.pid for name, r in SandboxState.load(sandbox.layout.state).processes.items()}


def apply(sandbox: Sandbox, path: str, manifest: str, name: str) -> None:
    server(sandbox).apply(f"{path}/{name}", manifest.replace("NAME", name).encode())


def pod(sandbox: Sandbox, name: str) -> PodStatus | None:
    return next((p for p in sandbox.status().pods if p.name == name), None)


def a_pod(sandbox: Sandbox, name: str, wanted: Callable[[PodStatus], bool]) -> PodStatus:
    """The pod once the condition holds."""

    def found() -> PodStatus | None:
        one = pod(sandbox, name)
        return one if one is not None and wanted(one) else None

    answer = until(found, lambda: sandbox.status().pods)
    assert answer is not None
    return answer


def test_up_again_changes_nothing(running: Sandbox) -> None:
    before = pids(running)
    begun = time.process_time()  # what else the machine does has no part in it
    running.up(CONTROL_PLANE)
    assert pids(running) == before
    assert time.process_time() - begun < 5
    assert set(before) == {"etcd", "kube-apiserver", *CONTROL_PLANE}


def test_a_smaller_up_restarts_nothing(running: Sandbox) -> None:
    before = pids(running)
    running.up(["kube-apiserver"])
    assert pids(running) == before


def test_damaged_certificates_are_shown_and_repaired(running: Sandbox) -> None:
    (running.layout.certificates / "admin.crt").write_text("")
    assert "certificates cannot be read" in (running.status().problem or "")
    running.up(CONTROL_PLANE)
    assert running.status().running


def test_the_kubeconfig_works_and_everything_is_loopback(running: Sandbox) -> None:
    config = yaml.safe_load(running.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == server(running).url
    assert server(running).get("/version")["gitVersion"].startswith("v1.36.")
    for pid in pids(running).values():
        for connection in psutil.Process(pid).net_connections(kind="inet"):
            if connection.status == psutil.CONN_LISTEN:
                assert connection.laddr.ip == "127.0.0.1"


def test_custom_resources_are_served_at_once(running: Sandbox) -> None:
    answer = server(running).request("GET", "/apis/nvidia.com/v1/clusterpolicies")
    assert answer.status == 200


def test_a_server_alone_serves_them_too(tmp_path: Path) -> None:
    with Sandbox(tmp_path / "alone").up(["kube-apiserver"]) as sandbox:
        answer = server(sandbox).request("GET", "/apis/nvidia.com/v1/clusterpolicies")
        assert answer.status == 200


def test_a_node_advertises_and_the_scheduler_places_what_fits(running: Sandbox) -> None:
    apply(running, "/api/v1/nodes", NODE, "gpu-node")
    until(lambda: any(n.ready for n in running.status().nodes))
    capacity = {"nvidia.com/gpu": "1", "cpu": "8", "memory": "32Gi", "pods": "20"}
    patch = json.dumps({"status": {"capacity": capacity, "allocatable": capacity}}).encode()
    answer = server(running).request(
        "PATCH", "/api/v1/nodes/gpu-node/status", patch, "application/merge-patch+json"
    )
    assert answer.status == 200
    apply(running, "/api/v1/namespaces/default/pods", POD, "first")
    first = a_pod(running, "first", lambda one: one.phase == "Running")
    assert first.requests == {"nvidia.com/gpu": "1"}
    apply(running, "/api/v1/namespaces/default/pods", POD, "second")
    second = a_pod(running, "second", lambda one: one.reason is not None)
    assert "Insufficient nvidia.com/gpu" in (second.reason or "")
    status = running.status()
    assert status.running
    assert status.nodes[0].advertised == {"nvidia.com/gpu": "1"}


def test_a_deleted_pod_makes_room_and_a_job_completes(running: Sandbox) -> None:
    server(running).request("DELETE", "/api/v1/namespaces/default/pods/first")
    a_pod(running, "second", lambda one: one.node == "gpu-node")
    assert pod(running, "first") is None
    apply(running, "/apis/batch/v1/namespaces/default/jobs", JOB, "train")
    path = "/apis/batch/v1/namespaces/default/jobs/train"
    until(lambda: server(running).get(path)["status"].get("succeeded") == 1)


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver", *CONTROL_PLANE])
def test_a_killed_part_is_repaired_alone(running: Sandbox, name: str) -> None:
    before = pids(running)
    running.kill(name)
    until(lambda: not running.status().running)
    running.up(CONTROL_PLANE)
    after = pids(running)
    changed = {part for part in before if before[part] != after[part]}
    # An API server that lost its storage for long may be started again too; nothing else.
    assert {name} <= changed <= {name, "kube-apiserver"}
    assert running.status().running
    assert [node.name for node in running.status().nodes] == ["gpu-node"]


def test_nodes_obey_a_restarted_kwok_at_once(running: Sandbox) -> None:
    running.kill("kwok")
    running.up(CONTROL_PLANE)
    apply(running, "/apis/batch/v1/namespaces/default/jobs", JOB, "after-kwok")
    path = "/apis/batch/v1/namespaces/default/jobs/after-kwok"
    until(lambda: server(running).get(path)["status"].get("succeeded") == 1)


def test_a_hanging_part_is_started_again(running: Sandbox) -> None:
    before = pids(running)["kube-scheduler"]
    running.kill("kube-scheduler", signal.SIGSTOP)
    running.up(CONTROL_PLANE)
    assert pids(running)["kube-scheduler"] != before


def test_a_lost_record_is_repaired(running: Sandbox) -> None:
    before = set(pids(running).values())
    running.layout.state.write_text("{ not json")
    assert running.status().problem
    running.up(CONTROL_PLANE)
    after = set(pids(running).values())
    assert not before & after, "processes without a record are ended, not doubled"
    assert set(processes.find(running.layout.root, {})) == after
    assert [node.name for node in running.status().nodes] == ["gpu-node"]


def test_two_at_once_are_one(running: Sandbox) -> None:
    running.down()
    with ThreadPoolExecutor(2) as pool:
        again = [Sandbox(running.layout.root) for _ in range(2)]
        list(pool.map(lambda one: one.up(CONTROL_PLANE), again))
    found = processes.find(running.layout.root, {})
    assert sorted(found.values()) == sorted(pids(running))


def test_a_start_that_is_killed_is_picked_up(running: Sandbox) -> None:
    running.down()
    code = f"from gpufleet_sandbox import Sandbox; Sandbox({str(running.layout.root)!r}).up()"
    with subprocess.Popen([sys.executable, "-c", code]) as starting:
        until(lambda: processes.find(running.layout.root, {}))
        starting.kill()
    running.up(CONTROL_PLANE)
    assert running.status().running


def test_an_interrupted_start_leaves_no_process(running: Sandbox) -> None:
    running.down()
    # Nothing gets ready in it: it is still at its beginning when the interrupt comes.
    code = (
        "from gpufleet_sandbox.api_server import ApiServer\n"
        "from gpufleet_sandbox import Sandbox\n"
        "ApiServer.is_healthy = lambda *_: False\n"
        f"Sandbox({str(running.layout.root)!r}).up(timeout=600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as starting:
        until(lambda: "etcd" in processes.find(running.layout.root, {}).values())
        starting.send_signal(signal.SIGINT)
        assert starting.wait(120) != 0
    assert processes.find(running.layout.root, {}) == {}


def test_a_taken_port_is_replaced(running: Sandbox) -> None:
    import socket

    running.down()
    recorded = SandboxState.load(running.layout.state).ports["kube-apiserver"]
    with socket.socket() as intruder:
        intruder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        intruder.bind(("127.0.0.1", recorded))
        intruder.listen()
        running.up(CONTROL_PLANE)
    assert server(running).port != recorded
    assert [node.name for node in running.status().nodes] == ["gpu-node"]


def test_a_program_that_ends_is_shown_with_its_log(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "broken")
    sandbox.up(["etcd"])
    sandbox.down()
    member = next(sandbox.layout.etcd.rglob("*.snap"), None) or next(
        path for path in sandbox.layout.etcd.rglob("db")
    )
    member.write_bytes(b"damaged")
    for other in sandbox.layout.etcd.rglob("*"):
        if other.is_file():
            other.write_bytes(b"damaged")
    with pytest.raises(SandboxError, match=r"etcd: ended while starting\. The end of ") as caught:
        sandbox.up(["etcd"])
    assert "sandbox reset" in str(caught.value)
    assert processes.find(sandbox.layout.root, {}) == {}


def test_down_leaves_no_process_and_no_port_and_keeps_the_data(running: Sandbox) -> None:
    used = list(SandboxState.load(running.layout.state).ports.values())
    running.down()
    assert processes.find(running.layout.root, {}) == {}
    until(lambda: all(ports.is_free(port) for port in used), lambda: used)
    assert not running.status().running
    running.up(CONTROL_PLANE)
    assert list(SandboxState.load(running.layout.state).ports.values()) == used
    assert [node.name for node in running.status().nodes] == ["gpu-node"]


def test_reset_forgets_everything(running: Sandbox) -> None:
    running.reset()
    assert processes.find(running.layout.root, {}) == {}
    assert [path.name for path in running.layout.root.iterdir()] == [".lock"]
    running.up(CONTROL_PLANE)
    assert running.status().nodes == ()


def test_the_environment_reaches_the_engine(running: Sandbox) -> None:
    environment = running.environment()
    assert environment["PATH"].split(os.pathsep)[0] == str(running.layout.bin)
    assert Path(environment["PULUMI_CONFIG_PASSPHRASE_FILE"]).is_file()
