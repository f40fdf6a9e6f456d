"""Getting every program the sandbox runs."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from gpufleet.sandbox.errors import SandboxError
from gpufleet.sandbox.progress import Progress


def prepare(names: Iterable[str], progress: Progress) -> dict[str, Path]:
    """Program name -> executable found on PATH.

    Raises:
        SandboxError: One is not there.
    """
    found = {name: shutil.which(name) for name in names}
    if missing := [name for name, path in found.items() if path is None]:
        raise SandboxError(f"not on PATH: {', '.join(missing)}")
    progress.note("programs: all found on PATH")
    return {name: Path(path) for name, path in found.items() if path}
