"""A test process that is killed leaves nothing running."""

import subprocess
import sys
from pathlib import Path

import psutil

from tests.engine.left_behind import running_in
from tests.engine.waiting import until

REPOSITORY = Path(__file__).parents[2]
TESTING = """
import subprocess, sys, time
from pathlib import Path
from tests.engine.left_behind import ended_with_us

folder = Path(sys.argv[1])
with ended_with_us(folder):
    subprocess.Popen(["sleep", "600"], cwd=folder, start_new_session=True)
    print("started", flush=True)
    time.sleep(600 if sys.argv[2] == "killed" else 0)
"""


def names(folder: Path) -> list[str]:
    return [process.name() for process in running_in(str(folder))]


def a_test_process(folder: Path, ends: str) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", TESTING, str(folder), ends],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    return process


def test_what_a_killed_test_process_started_ends(tmp_path: Path) -> None:
    with a_test_process(tmp_path / "run", "killed") as testing:
        assert "sleep" in names(tmp_path / "run")
        testing.kill()
    until(lambda: not running_in(str(tmp_path / "run")), lambda: names(tmp_path / "run"))


def test_what_is_left_at_an_ordinary_end_stays_to_be_seen(tmp_path: Path) -> None:
    with a_test_process(tmp_path / "run", "ends") as testing:
        testing.wait()
    (left,) = running_in(str(tmp_path / "run"))
    assert left.name() == "sleep"
    left.kill()
    psutil.wait_procs([left], 10)
