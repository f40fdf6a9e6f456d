"""Environments that the Makefile makes: not part of a source distribution, and removed by `clean`.

A source distribution holds what Git does not ignore, and a link of an environment to the Python of
the machine ends its build.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
MADE = sorted(
    {found.replace("$(VENV)", ".venv") for found in re.findall(r"-m venv (\S+)", MAKEFILE)}
)


def test_the_makefile_makes_environments() -> None:
    assert {".venv", ".venv-audit", ".venv-docs", ".venv-release"} <= set(MADE)


@pytest.mark.parametrize("folder", MADE)
def test_git_ignores_it(folder: str) -> None:
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {f"/{folder}", f"/{folder}/"} & set(ignored)


def test_clean_removes_all() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "clean"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(MADE) <= set(done.stdout.split())
