import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gpufleet_sandbox import processes
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.processes import Command
from gpufleet_sandbox.state import ProcessRecord
from tests.engine.waiting import until

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("on", flush=True)
time.sleep(60)
"""
SLEEP = "import time; time.sleep(60)"


_started: list[ProcessRecord] = []
"""Processes of the running test: one that has only just started has no marks yet."""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    begun = [record.pid for record in _started if processes.is_alive(record)]
    processes.stop({*begun, *processes.find(tmp_path, {})}, 0)
    _started.clear()


def start(root: Path, code: str, name: str = "sleeper") -> ProcessRecord:
    command = Command(name, (sys.executable, "-c", code), "fingerprint")
    log = root / "logs" / f"{name}.log"
    record = processes.start(command, root, log, os.environ["PATH"])
    _started.append(record)
    return record


def found(root: Path, recorded: dict[str, ProcessRecord], count: int) -> dict[int, str]:
    """This number of processes of the sandbox, or those after a minute: the kernel ends an exec
    before it publishes the new environment, where the marks are."""
    until(
        lambda: len(processes.find(root, recorded)) == count,
        lambda: processes.find(root, recorded),
    )
    return processes.find(root, recorded)


def test_a_started_process_is_alive_in_a_session_of_its_own(root: Path) -> None:
    record = start(root, SLEEP)
    assert processes.is_alive(record)
    assert os.getsid(record.pid) == record.pid
    assert found(root, {}, 1) == {record.pid: "sleeper"}


def test_stop_leaves_no_zombie(root: Path) -> None:
    record = start(root, SLEEP)
    processes.stop([record.pid], 5)
    assert not processes.is_alive(record)
    assert not psutil.pid_exists(record.pid)


def test_stop_kills_what_ignores_sigterm(root: Path) -> None:
    record = start(root, STUBBORN)
    log = root / "logs" / "sleeper.log"
    until(lambda: log.exists() and "on" in log.read_text(), "it says that it is on")
    processes.stop([record.pid], 0.2)
    assert not processes.is_alive(record)


def test_a_killed_process_is_dead_although_we_are_its_parent(root: Path) -> None:
    record = start(root, SLEEP)
    os.kill(record.pid, signal.SIGKILL)
    until(lambda: not processes.is_alive(record), "it is dead")


def test_an_id_given_out_again_is_not_ours(root: Path) -> None:
    record = start(root, SLEEP)
    older = ProcessRecord(record.pid, record.started - 3600, record.fingerprint)
    assert not processes.is_alive(older)
    processes.send(older, signal.SIGKILL)
    assert processes.is_alive(record)


def test_another_sandbox_is_left_alone(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    record = start(root, SLEEP)
    assert found(root, {}, 1) == {record.pid: "sleeper"}
    assert processes.find(other, {}) == {}


def test_a_lost_record_makes_a_stray(root: Path) -> None:
    kept = start(root, SLEEP, "kept")
    lost = start(root, SLEEP, "lost")
    both = found(root, {"kept": kept}, 2)
    assert processes.strays(both, {"kept": kept}) == [lost.pid]


def test_children_of_a_recorded_process_are_no_strays(root: Path) -> None:
    parent = f"import subprocess,sys; subprocess.run([sys.executable, '-c', {SLEEP!r}])"
    record = start(root, parent)
    family = found(root, {"sleeper": record}, 2)
    assert set(family.values()) == {"sleeper"}
    assert processes.strays(family, {"sleeper": record}) == []


def test_credentials_are_not_handed_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    record = start(root, SLEEP)
    assert found(root, {}, 1) == {record.pid: "sleeper"}  # now its environment can be seen
    assert "AWS_SECRET_ACCESS_KEY" not in psutil.Process(record.pid).environ()


def test_a_missing_program_is_a_clear_error(root: Path) -> None:
    command = Command("etcd", (str(root / "no-such"),), "f")
    with pytest.raises(SandboxError, match=r"cannot start etcd .*No such file"):
        processes.start(command, root, root / "log", "/bin")


def test_stopping_what_is_gone_is_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    processes.stop([child.pid], 1)


def test_tail_gives_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert processes.tail(log) == "(no log)"
    log.write_text("")
    assert processes.tail(log) == "(empty log)"
    log.write_text("\n".join(map(str, range(5000))))
    assert processes.tail(log, 3) == "4997\n4998\n4999"


def test_a_long_log_is_put_aside(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LOG_BYTES", 10)
    (root / "logs").mkdir()
    (root / "logs" / "sleeper.log").write_text("long enough to be put aside")
    start(root, SLEEP)
    assert (root / "logs" / "sleeper.previous.log").read_text().startswith("long")
