"""Sources of pinned Go modules: the definitions that the real controllers bring."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gpufleet_sandbox.tools_folder import tools_folder


def module_folder(tool: str, module: str, inside: str) -> Path:
    """The module's sources in Go's cache, as `tools/<tool>` pins it; skips where they are not.

    `inside` is a folder that the sources have.
    """
    go = shutil.which("go")
    if go is None:
        pytest.skip(f"Go is not on PATH: definitions come from the sources of {module}")
    found = subprocess.run(
        [go, "list", "-m", "-f", "{{.Dir}}", module],
        cwd=tools_folder() / tool,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if not found or not Path(found, inside).is_dir():
        pytest.skip(f"the sources of {module} are not in Go's module cache")
    return Path(found)
