"""The program and the test of docs/test-your-program.md run as a reader writes them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "test-your-program.md").read_text(encoding="utf-8")


def test_the_test_of_the_page_passes(tmp_path: Path) -> None:
    program, test, typed = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "fleet.py").write_text(program)
    (tmp_path / "test_fleet.py").write_text(test)
    (tmp_path / "typed.py").write_text(typed)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_fleet.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    assert "error" not in done.stderr
