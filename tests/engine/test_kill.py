"""`kill -9` in the middle of an update, then the same command again: converged, nothing twice.

One kill at a known moment belongs to `make nightly`; `make chaos` kills anything at any moment.
"""

import io
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from gpufleet_sandbox import SandboxError
from gpufleet_sandbox.engine import deploy
from gpufleet_sandbox.orphaned_plugins import plugins
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.engine.sandbox_stack import ADVERTISED, Stack, nodes_advertise
from tests.engine.waiting import until

pytestmark = [pytest.mark.killed_engines]

OPERATOR_NAMESPACE = "gpu-operator"
ENGINE = "engine"
PROVIDER = "provider"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok", "operands")

Update = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def update(stack: Stack) -> Iterator[Update]:
    """Starts `pulumi up` of the stack in the background."""
    running: list[subprocess.Popen[bytes]] = []
    project = stack.project

    def start() -> "subprocess.Popen[bytes]":
        stack.save()
        command = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive"]
        with (project.folder / "update.log").open("ab") as log:
            running.append(
                subprocess.Popen(
                    [*command, "--stack", project.stack],
                    cwd=project.folder,
                    env=project.engine.env,
                    stdout=log,
                    stderr=log,
                )
            )
        return running[-1]

    yield start
    for engine in running:
        engine.kill()
        engine.wait()
    release_stale_lock(project.engine, project.stack)  # of a test that failed half-way


def reached(moment: Callable[[], bool], engine: "subprocess.Popen[bytes]", stack: Stack) -> None:
    """Wait for a moment of the update, which must come before its end."""
    said = (stack.project.folder / "update.log").read_text
    until(lambda: moment() or engine.poll() is not None, said)
    assert engine.poll() is None, said()


@contextmanager
def pods_never_ready(sandbox: Any) -> Iterator[None]:
    """While it lasts, what waits for pods waits: an installation is not over."""
    sandbox.kill("kwok", signal.SIGSTOP)
    try:
        yield
    finally:
        sandbox.kill("kwok", signal.SIGCONT)


def kill(victim: str, engine: "subprocess.Popen[bytes]", sandbox: Any) -> None:
    """SIGKILL, without a chance to clean up."""
    if victim == ENGINE:
        engine.kill()
    elif victim == PROVIDER:
        for process in psutil.Process(engine.pid).children(recursive=True):
            if process.name().startswith("pulumi-resource"):
                process.kill()
    else:
        with suppress(SandboxError):  # an earlier round killed it without a repair
            sandbox.kill(victim)


def converge(stack: Stack, sandbox: Any) -> str:
    """The user's next command: `make up`. Returns its output."""
    sandbox.up()
    out = io.StringIO()
    deploy(sandbox, stack.project.stack, project=stack.project.folder, out=out)
    return out.getvalue()


def converged_without_duplicates(stack: Stack, sandbox: Any, core: client.CoreV1Api) -> None:
    nodes_advertise(core)
    state = stack.project.engine.state(stack.project.stack)
    assert "pending_operations" not in state
    resources = state["resources"]
    assert [r["urn"] for r in resources if r.get("delete")] == []
    assert [urn for urn, n in Counter(r["urn"] for r in resources).items() if n > 1] == []
    nodes = [r for r in resources if r["type"] == "kubernetes:core/v1:Node"]
    assert len(nodes) == len(ADVERTISED)

    maps = core.list_namespaced_config_map(
        OPERATOR_NAMESPACE, label_selector="app.kubernetes.io/managed-by=gpufleet"
    )
    assert len(maps.items) == 2, [item.metadata.name for item in maps.items]
    revisions = core.list_namespaced_secret(OPERATOR_NAMESPACE, label_selector="owner=helm").items
    current = [r for r in revisions if r.metadata.labels["status"] == "deployed"]
    assert len(current) == 1, [r.metadata.labels for r in revisions]
    unfinished = [r.metadata.labels for r in revisions if "pending" in r.metadata.labels["status"]]
    assert unfinished == []

    home = Path(stack.project.engine.env["PULUMI_HOME"])
    until(lambda: not list(plugins(home)), "no provider is left behind")
    again = stack.up("--expect-no-changes")
    assert again.changed == 0


def exists(core: client.CoreV1Api, node: str) -> bool:
    try:
        core.read_node(node)
    except (ApiException, HTTPError):
        return False
    return True


@pytest.mark.chaos
@pytest.mark.parametrize(
    "victim", [ENGINE, pytest.param("kube-apiserver", marks=pytest.mark.chaos)]
)
def test_a_kill_while_nodes_are_made_is_repaired(
    victim: str, stack: Stack, update: Update, sandbox: Any, core: client.CoreV1Api
) -> None:
    engine = update()
    reached(lambda: any(exists(core, node) for node in ADVERTISED), engine, stack)
    kill(victim, engine, sandbox)
    sandbox.up()
    engine.wait(240)

    said = converge(stack, sandbox)

    assert ("removed the lock" in said) is (victim == ENGINE)
    converged_without_duplicates(stack, sandbox, core)


@pytest.mark.parametrize(
    "victim", ["kube-apiserver", pytest.param(ENGINE, marks=pytest.mark.chaos)]
)
def test_a_kill_while_the_chart_is_installed_is_repaired(
    victim: str, stack: Stack, update: Update, sandbox: Any, core: client.CoreV1Api
) -> None:
    def installing() -> bool:
        found = core.list_namespaced_secret(
            OPERATOR_NAMESPACE, label_selector="owner=helm,status=pending-install"
        )
        return bool(found.items)

    with pods_never_ready(sandbox):
        engine = update()
        reached(installing, engine, stack)
        kill(victim, engine, sandbox)
    sandbox.up()
    engine.wait(300)

    converge(stack, sandbox)

    converged_without_duplicates(stack, sandbox, core)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(20))
def test_anything_killed_at_any_moment_is_repaired(
    seed: int, stack: Stack, update: Update, sandbox: Any, core: client.CoreV1Api
) -> None:
    choice = random.Random(seed)
    for _ in range(choice.randint(1, 3)):
        engine = update()
        time.sleep(choice.uniform(0.5, 8))
        victim = choice.choice((ENGINE, PROVIDER, *CONTROL_PLANE))
        if engine.poll() is None:
            kill(victim, engine, sandbox)
        if choice.random() < 0.5:
            sandbox.up()
            engine.wait(300)
        else:
            engine.kill()
            engine.wait()
    converge(stack, sandbox)
    converged_without_duplicates(stack, sandbox, core)
