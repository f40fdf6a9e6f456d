"""A copy of the product, for tests that edit it and run the edited program."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "components/gpufleet",
    "components/gpufleet_vcenter",
    "policies/gpufleet_policies",
    "planner/gpufleet_planner",
)

Edit = tuple[str, str, str]
"""File, text that is in it once, text that replaces it."""


def copy_tree(made: Path, *more: str) -> Path:
    """Copy the packages of the product, and `more` folders of the checkout, to an empty folder.

    Compiled files are copied as well, and files keep their times: only edited ones are compiled.
    """
    for folder in (*PACKAGES, *more):
        # Not what another process is writing at this moment.
        shutil.copytree(ROOT / folder, made / folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    return made


def apply_edits(tree: Path, edits: Iterable[Edit]) -> None:
    """Make the edits; the replaced text must be in the file exactly once."""
    for name, old, new in edits:
        text = (tree / name).read_text()
        assert text.count(old) == 1, f"{name}: {old}"
        (tree / name).write_text(text.replace(old, new))


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of the copy."""
    path = os.pathsep.join(str(tree / root) for root in ("components", "policies", "planner"))
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def gpufleet(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program of the copy."""
    return python(tree, "-m", "gpufleet.cli", *arguments)
