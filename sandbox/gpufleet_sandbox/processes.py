"""Starting, recognising and stopping the processes of one sandbox.

A process is recognised by two marks. The record in `state.json` holds its id *and* its start time,
because ids are given out again. And each process carries the sandbox folder and its own name in its
environment, so that one whose record was lost (a kill between start and record, a deleted or
damaged file) is still found, and never one of another owner.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.state import ProcessRecord

FOLDER_MARK = "GPUFLEET_SANDBOX_PROCESS_OF"
NAME_MARK = "GPUFLEET_SANDBOX_PROCESS"

_PASSED_ON = ("HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "PYTHONPATH", "SSL_CERT_FILE", "GOGC")
"""Long-lived processes get no more of the caller's environment: it may hold cloud credentials.
With GOGC (garbage collector of Go) a control plane takes less processor time or less memory."""

_START_TIME_TOLERANCE = 2.0
"""Seconds. Linux derives start times from the wall clock, which is corrected now and then."""

_LOG_BYTES = 10_000_000

_children: dict[int, subprocess.Popen[bytes]] = {}
"""Processes this interpreter started, so that it can reap them when they end before it does."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process to run."""

    name: str
    arguments: tuple[str, ...]
    """Absolute path of the program, then its arguments."""
    fingerprint: str
    """Digest of everything that decides how it runs."""


def start(command: Command, root: Path, log: Path, path: str) -> ProcessRecord:
    """Start a process in its own session: it outlives the caller and its terminal.

    Args:
        command: Command line.
        root: The sandbox folder; also the working directory.
        log: File to which standard output and error are appended.
        path: PATH of the process.

    Raises:
        SandboxError: The system refuses to start it.
    """
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {"PATH": path, FOLDER_MARK: str(root), NAME_MARK: command.name}
    _make_room(log)
    try:
        with log.open("ab") as output:
            child = subprocess.Popen(
                command.arguments,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    except OSError as problem:
        raise SandboxError(
            f"cannot start {command.name} ({command.arguments[0]}): {problem.strerror}"
        ) from problem
    _children[child.pid] = child
    try:
        started = psutil.Process(child.pid).create_time()
    except psutil.NoSuchProcess:
        started = time.time()  # ended at once; the caller's first check reports it
    return ProcessRecord(child.pid, started, command.fingerprint)


def _make_room(log: Path) -> None:
    """Keep one log of the past: logs are appended to, and a sandbox may run for weeks."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_suffix(".previous.log"))


def _reap() -> None:
    for pid, child in list(_children.items()):
        if child.poll() is not None:
            del _children[pid]


def _marks(process: psutil.Process) -> tuple[str, str] | None:
    """Folder and name a process carries, or None when it carries none or hides it."""
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        return None
    folder, name = environment.get(FOLDER_MARK), environment.get(NAME_MARK)
    return (folder, name) if folder and name else None


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_alive(record: ProcessRecord) -> bool:
    """Whether the recorded process still runs: the same id *and* the same start time."""
    _reap()
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.started) <= _START_TIME_TOLERANCE
    except psutil.Error:
        return False
    return same and _runs(process)


def find(root: Path, recorded: Mapping[str, ProcessRecord]) -> dict[int, str]:
    """Every running process of a sandbox, id to name: the recorded ones and the marked ones.

    Processes that a process of ours started itself carry its marks and are listed under its name.
    """
    _reap()
    found = {record.pid: name for name, record in recorded.items() if is_alive(record)}
    for process in psutil.process_iter():
        marks = _marks(process)
        if marks and marks[0] == str(root) and _runs(process):
            found.setdefault(process.pid, marks[1])
    return found


def strays(found: Mapping[int, str], recorded: Mapping[str, ProcessRecord]) -> list[int]:
    """Those among `found` that no record explains: neither recorded nor a child of a recorded one.

    They are what a killed `up` leaves behind; they hold ports and data folders.
    """
    known = {record.pid for record in recorded.values() if is_alive(record)}
    unexplained: list[int] = []
    for pid in found:
        try:
            ancestors = {parent.pid for parent in psutil.Process(pid).parents()}
        except psutil.NoSuchProcess:
            continue
        if pid not in known and not ancestors & known:
            unexplained.append(pid)
    return unexplained


def stop(pids: Iterable[int], grace: float) -> None:
    """End processes: SIGTERM, and after `grace` seconds SIGKILL. Returns when they are gone.

    Raises:
        SandboxError: One survived SIGKILL for ten seconds (a process stuck in the kernel).
    """
    processes = list(_existing(pids))
    for process in processes:
        _signal(process, signal.SIGTERM)
    remaining = _wait(processes, grace)
    for process in remaining:
        _signal(process, signal.SIGKILL)
    if stuck := _wait(remaining, 10.0):
        raise SandboxError(
            "processes that do not end: " + ", ".join(str(process.pid) for process in stuck)
        )


def send(record: ProcessRecord, number: signal.Signals) -> None:
    """Send a signal to a recorded process, if it is still that process."""
    if is_alive(record):
        os.kill(record.pid, number)


def _existing(pids: Iterable[int]) -> Iterable[psutil.Process]:
    for pid in pids:
        try:
            yield psutil.Process(pid)
        except psutil.NoSuchProcess:
            continue


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)  # psutil checks the start time first: never a reused id
    except psutil.NoSuchProcess:
        return


def _wait(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    deadline = time.monotonic() + seconds
    remaining = list(processes)
    while True:
        _reap()
        # A child of ours has ended when it is reaped: an ended first thread is not an end yet:
        # the others may still hold ports.
        remaining = [one for one in remaining if one.pid in _children or _runs(one)]
        if not remaining or time.monotonic() >= deadline:
            return remaining
        time.sleep(0.02)


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log, for error texts."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16_384))
            text = file.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:]) or "(empty log)"
