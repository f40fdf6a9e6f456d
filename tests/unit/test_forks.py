"""pytest by `--forks`: the files of a run in copies of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAILS = "def test_fails():\n    print('what it printed')\n    assert 1 + 1 == 3\n"
DIES = "import os\ndef test_dies(): os._exit(3)\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies of processes: Linux")


def run(folder: Path, *options: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    (folder / "conftest.py").write_text(
        "from tests.forks import pytest_addoption, pytest_runtestloop\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--forks", "2", "-p", "no:cacheprovider"]
    answer = subprocess.run(
        [*command, *options, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stdout + answer.stderr


def test_a_failure_of_a_copy_is_a_failure_of_the_run(tmp_path: Path) -> None:
    passes = "def test_passes(tmp_path): assert tmp_path.exists()\n"
    status, shown = run(tmp_path, one=passes, two=FAILS, three=passes)
    assert status == pytest.ExitCode.TESTS_FAILED, shown
    assert "assert (1 + 1) == 3" in shown
    assert "what it printed" in shown
    assert "1 failed, 2 passed" in shown


def test_a_copy_that_ends_early_is_not_a_success(tmp_path: Path) -> None:
    status, shown = run(tmp_path, one=DIES, two="def test_passes(): pass\n")
    assert status == pytest.ExitCode.INTERNAL_ERROR, shown
    assert "ended before its tests" in shown
