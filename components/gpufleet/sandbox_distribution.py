"""Entry points of the distribution gpufleet-sandbox."""

from importlib.metadata import entry_points, version
from typing import Any

from gpufleet.installation import install_command

COMMANDS = "gpufleet.commands"
"""Entry points that are commands of the `gpufleet` program."""
CHARTS = "gpufleet.charts"
"""Entry points that are functions which return a folder of charts."""

_PRODUCT = "pulumi-gpufleet"
_SANDBOX = "gpufleet-sandbox"
_INSTALL = f"`{install_command(sandbox=True)}`, or `make up` in a checkout"


class SandboxUnavailableError(Exception):
    """The sandbox cannot be used; the text names the missing package."""


def sandbox_part(group: str) -> Any:
    """The object that gpufleet-sandbox registers in a group of entry points.

    Raises:
        SandboxUnavailableError: gpufleet-sandbox is not installed, belongs to another version of
            pulumi-gpufleet, or lacks a package that it requires.
    """
    entry = next(iter(entry_points(group=group, name="sandbox")), None)
    if entry is None or entry.dist is None:
        raise SandboxUnavailableError(f"{_SANDBOX} is not installed: {_INSTALL}")
    product, sandbox = version(_PRODUCT), entry.dist.version
    if sandbox != product:
        raise SandboxUnavailableError(
            f"{_SANDBOX} {sandbox} works with {_PRODUCT} {sandbox} only, and {_PRODUCT} {product} "
            f"is installed: {_INSTALL}, of one release"
        )
    try:
        return entry.load()
    except ModuleNotFoundError as problem:
        raise SandboxUnavailableError(
            f"{_SANDBOX} requires {problem.name}, which is not installed: {_INSTALL}"
        ) from problem
