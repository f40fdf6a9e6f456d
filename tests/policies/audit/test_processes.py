"""An audit in several processes: the same report, and no process is left behind."""

import errno
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.public_manifests import write_manifests
from gpufleet.cli.audit import command
from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.fronts.audit import processes, run
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.parcels import packed
from gpufleet_policies.fronts.audit.run import Task, audit
from gpufleet_policies.rules.settings import Settings

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "junit", "github"])
def test_the_report_is_that_of_one_process_in_every_format(tmp_path: Path, output_format: str):
    write_manifests(tmp_path, 130)
    found = [
        CliRunner().invoke(command, ["--jobs", jobs, "--format", output_format, str(tmp_path)])
        for jobs in ("1", "4")
    ]
    assert [one.exit_code for one in found] == [1, 1]
    assert len(found[0].output) > 10_000
    assert found[0].output == found[1].output


def test_the_program_ends_with_the_code_of_its_findings(tmp_path: Path):
    write_manifests(tmp_path, 100)
    arguments = [sys.executable, "-m", "gpufleet.cli", "audit", "--jobs", "2", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert not done.stderr
    assert done.stdout.splitlines()[-1].endswith("of 100 files")


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Processes that the audit starts, of all that a test run may have."""
    found: list[int] = []

    def fork() -> int:
        process = original()
        if process:
            found.append(process)
        return process

    original = os.fork
    monkeypatch.setattr(os, "fork", fork)
    return found


def test_a_process_that_ends_early_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: list[int]
):
    write_manifests(tmp_path, 100)
    here = os.getpid()

    def read(one: object) -> object:
        if os.getpid() != here:
            os._exit(3)
        return original(one)  # type: ignore[arg-type]

    original = run.read_input
    monkeypatch.setattr(run, "read_input", read)
    with pytest.raises(RuntimeError, match="ended early; try --jobs 1"):
        audit(find_inputs([str(tmp_path)]), Settings(), TODAY, jobs=2)
    assert forked
    for process in forked:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)  # it has been waited for


def test_what_a_process_failed_of_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    write_manifests(tmp_path, 100)
    here = os.getpid()

    def read(one: object) -> object:
        if os.getpid() != here:
            raise ValueError("what went wrong")
        return original(one)  # type: ignore[arg-type]

    original = run.read_input
    monkeypatch.setattr(run, "read_input", read)
    with pytest.raises(RuntimeError, match="ended early"):
        audit(find_inputs([str(tmp_path)]), Settings(), TODAY, jobs=2)
    assert "ValueError: what went wrong" in capfd.readouterr().err


def test_few_files_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_manifests(tmp_path, processes.FILES_PER_PROCESS)

    def fork() -> int:
        raise AssertionError("no process is worth its start")

    monkeypatch.setattr(os, "fork", fork)
    inputs = find_inputs([str(tmp_path)])
    found = processes.run_parts(Task(Settings(), TODAY, None), inputs, 8)
    assert len(found.files) == len(inputs)


def test_a_process_that_ends_while_it_is_told_of_the_others_is_said_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: list[int]
):
    write_manifests(tmp_path, 100)
    here = os.getpid()

    def receive(line: Any) -> bytes:
        if os.getpid() != here:
            os._exit(3)
        return original(line)

    original = processes._Line.receive  # type: ignore[reportPrivateUsage]
    monkeypatch.setattr(processes._Line, "receive", receive)  # type: ignore[reportPrivateUsage]
    # More than a pipe holds: it can be written only while somebody reads.
    monkeypatch.setattr(processes, "packed", lambda value: packed(value) + bytes(1 << 20))
    with pytest.raises(UnreadableInputError, match="ended early; try --jobs 1"):
        CliRunner().invoke(command, ["--jobs", "2", str(tmp_path)], catch_exceptions=False)
    assert forked
    for process in forked:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)  # it has been waited for


def test_a_process_that_cannot_be_started_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: list[int]
):
    write_manifests(tmp_path, 100)

    def fork() -> int:
        if forked:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return original()

    original = os.fork
    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(UnreadableInputError, match="cannot be started: Resource"):
        CliRunner().invoke(command, ["--jobs", "3", str(tmp_path)], catch_exceptions=False)
    (process,) = forked
    with pytest.raises(ChildProcessError):
        os.waitpid(process, os.WNOHANG)
