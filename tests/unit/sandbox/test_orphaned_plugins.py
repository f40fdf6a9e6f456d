"""Which provider processes are ended: those without an engine, of this PULUMI_HOME only."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from gpufleet_sandbox import Sandbox
from gpufleet_sandbox.orphaned_plugins import end_orphaned_plugins
from gpufleet_sandbox.state import SandboxState
from tests.engine.waiting import until

Start = Callable[..., psutil.Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that the system takes for a provider plugin, under an engine or alone."""
    plugin = tmp_path / "pulumi-resource-kubernetes"
    engine = tmp_path / "pulumi"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", plugin)
    shutil.copy(shutil.which("bash") or "/bin/bash", engine)
    started: list[subprocess.Popen[bytes]] = []

    def run(home: Path, *, under_an_engine: bool = False) -> psutil.Process:
        command = [str(plugin), "60"]
        if under_an_engine:
            command = [str(engine), "-c", f"{plugin} 60; true"]
        child = subprocess.Popen(command, env={"PULUMI_HOME": str(home)})
        started.append(child)

        def running() -> psutil.Process | None:
            process = psutil.Process(child.pid)
            for one in (process, *process.children()):
                # Its name comes first, its environment a moment later.
                named = one.name() in (plugin.name, plugin.name[:15])
                if named and one.environ().get("PULUMI_HOME") == str(home):
                    return one
            return None

        found = until(running, "the plugin runs")
        assert found is not None
        return found

    yield run
    for child in started:
        if child.poll() is None:
            for process in psutil.Process(child.pid).children(recursive=True):
                process.kill()
            child.kill()
            child.wait()


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_only_orphans_of_this_home_are_ended(tmp_path: Path, start: Start) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    orphan, other, working = start(ours), start(theirs), start(ours, under_an_engine=True)
    assert end_orphaned_plugins(ours) == 1
    assert [alive(process) for process in (orphan, other, working)] == [False, True, True]
    assert end_orphaned_plugins(ours) == 0


def test_down_leaves_no_provider_of_a_killed_engine(tmp_path: Path, start: Start) -> None:
    sandbox = Sandbox(tmp_path / "sandbox")
    sandbox.layout.claim()
    SandboxState().save(sandbox.layout.state)
    orphan = start(sandbox.layout.pulumi_home)
    sandbox.down()
    assert not alive(orphan)
