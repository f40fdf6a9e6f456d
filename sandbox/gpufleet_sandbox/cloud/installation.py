"""Installs the simulators in the folder where the engine looks for the providers of the SDKs."""

import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpufleet_sandbox.state import write_atomically

CLOUDS = ("aws", "gcp")

_SCRIPT = """#!/bin/sh
# Written by gpufleet: replaces the Pulumi provider of this name.
exec {python} -u -P -m gpufleet_sandbox.cloud {cloud} "$@"
"""


def install(pulumi_home: Path, python: str | None = None) -> tuple[str, ...]:
    """Write a plugin for each cloud whose SDK is installed.

    Only into a sandbox's own `PULUMI_HOME`: the vendors' providers elsewhere stay what they are.

    Args:
        pulumi_home: the engine's folder.
        python: interpreter that has the SDKs and this package. Default: this one.

    Returns:
        The clouds that are ready.
    """
    ready: list[str] = []
    for cloud in CLOUDS:
        try:
            wanted = version(f"pulumi_{cloud}")
        except PackageNotFoundError:
            continue  # no program of this environment can request that provider
        folder = pulumi_home / "plugins" / f"resource-{cloud}-v{wanted}"
        folder.mkdir(parents=True, exist_ok=True)
        script = _SCRIPT.format(python=shlex.quote(python or sys.executable), cloud=cloud)
        write_atomically(folder / f"pulumi-resource-{cloud}", script, 0o755)
        ready.append(cloud)
    return tuple(ready)
