"""An audit in several processes: the same report, and no process is left behind."""

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from benchmarks.public_manifests import write_manifests
from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.audit import command
from gpufleet_policies.commands.audit_reports import FORMATS
from gpufleet_policies.fronts.audit import processes, run
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.reading import Reading

PROGRAM = [sys.executable, "-m", "gpufleet.cli", "audit"]
MANY = run.FILES_PER_PROCESS + 20
"""Files that the program reads with another process."""


@pytest.fixture(autouse=True)
def few_files_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "FILES_PER_PROCESS", 40)


def test_the_report_is_that_of_one_process_in_every_format(tmp_path: Path):
    files = tmp_path / "files"
    files.mkdir()
    write_manifests(files, 130)
    (files / "merged.yaml").write_text(
        "base: &b {apiVersion: v1}\n<<: *b\nkind: Pod\nmetadata: {name: m}\nspec:\n"
        "  containers:\n  - name: c\n    command: [sleep, infinity]\n"
        "    resources: {limits: {nvidia.com/gpu: 1, 5: 6}}\n"
    )
    reports: list[dict[str, str]] = []
    for jobs in ("1", "4"):
        made = {name: tmp_path / f"{name}-{jobs}" for name in FORMATS}
        outputs = [word for name, file in made.items() for word in ("--output", f"{name}={file}")]
        done = CliRunner().invoke(command, ["--jobs", jobs, *outputs, str(files)])
        assert done.exit_code == 1
        reports.append({name: file.read_text() for name, file in made.items()})
    assert all(len(report) > 10_000 for report in reports[0].values())
    assert reports[0] == reports[1]


def test_the_program_reads_pipes_with_many_files_and_ends_with_the_code_of_its_findings(
    tmp_path: Path,
):
    write_manifests(tmp_path, MANY)
    idle = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, "
        "command: [sleep, infinity], resources: {limits: {nvidia.com/gpu: 1}}}]}\n"
    )
    reads, writes = os.pipe()
    os.write(writes, (idle % "from-a-pipe").encode())
    os.close(writes)
    done = subprocess.run(
        [*PROGRAM, "--jobs", "2", str(tmp_path), "-", f"/dev/fd/{reads}"],
        input=idle % "typed",
        capture_output=True,
        text=True,
        check=False,
        pass_fds=[reads],
    )
    os.close(reads)
    assert done.returncode == 1
    assert not done.stderr
    assert done.stdout.splitlines()[-1].endswith(f"of {MANY + 2} files")
    assert "from-a-pipe" in done.stdout
    assert "typed" in done.stdout


def _killed(one: Input) -> Reading:
    if multiprocessing.parent_process() is None:
        return Reading(one.name)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_process_that_ends_early_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_manifests(tmp_path, 100)

    monkeypatch.setattr(processes, "read_input", _killed)
    with pytest.raises(UnreadableInputError, match="ended early; try --jobs 1"):
        CliRunner().invoke(command, ["--jobs", "2", str(tmp_path)], catch_exceptions=False)
    assert not multiprocessing.active_children()


def test_a_process_that_cannot_be_started_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_manifests(tmp_path, 100)
    started: list[int] = []

    def fork() -> int:
        if started:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        process = original()
        if process:
            started.append(process)
        return process

    original = os.fork
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(UnreadableInputError, match="cannot be started: Resource"):
        CliRunner().invoke(command, ["--jobs", "3", str(tmp_path)], catch_exceptions=False)
    assert started
    assert not multiprocessing.active_children()


def test_few_files_are_read_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_manifests(tmp_path, run.FILES_PER_PROCESS)

    def fork() -> int:
        raise AssertionError("no process is worth its start")

    monkeypatch.setattr(os, "fork", fork)
    done = CliRunner().invoke(command, ["--jobs", "8", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 1


@contextmanager
def _running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A running audit, in its own process group, and its two reading processes."""
    with subprocess.Popen(
        [*PROGRAM, "--jobs", "3", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        readers: list[psutil.Process] = []
        while len(readers) < 2 and program.poll() is None:
            readers = psutil.Process(program.pid).children()
            time.sleep(0.001)
        assert len(readers) == 2
        time.sleep(0.05)  # they prepare themselves
        yield program, readers
    _, alive = psutil.wait_procs(readers, timeout=20)
    assert not alive, "a process is left behind"


def test_ctrl_c_ends_every_process_without_a_traceback(tmp_path: Path):
    write_manifests(tmp_path, 3000)
    with _running(tmp_path) as (program, _):
        os.killpg(program.pid, signal.SIGINT)
        _, errors = program.communicate(timeout=30)
    assert program.returncode == 1
    assert errors.strip() == "Aborted!"


def test_no_process_outlives_a_program_that_was_killed(tmp_path: Path):
    write_manifests(tmp_path, 3000)
    with _running(tmp_path) as (program, _):
        program.kill()
