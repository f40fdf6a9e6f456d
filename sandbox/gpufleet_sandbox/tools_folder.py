"""The pinned Go modules: package data in an installed wheel, `tools/` in a checkout."""

from pathlib import Path

from gpufleet_sandbox.errors import SandboxError


def tools_folder() -> Path:
    """The folder that holds one Go module per group of programs.

    Raises:
        SandboxError: The installation lost it.
    """
    here = Path(__file__).resolve()
    candidates = (here.parent / "tools", here.parents[2] / "tools")
    for candidate in candidates:
        if (candidate / "control-plane" / "go.mod").is_file():
            return candidate
    raise SandboxError(
        "the pinned Go modules are missing (looked in "
        + " and ".join(str(candidate) for candidate in candidates)
        + "); install gpufleet-sandbox again"
    )
