"""Programs a person already has: on PATH, or in Pulumi's plugin folder."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.programs import ProviderPlugin, SandboxProgram

_VERSION_TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed program, and whether its version is accepted."""

    path: Path | None
    reason: str | None = None
    """Why a program that is there was not taken, or None."""


def find(program: SandboxProgram, environment: Mapping[str, str]) -> Installed:
    """An installed program of a version that will do."""
    if program.name == "pulumi-resource-kubernetes":
        return _plugin(program, environment)
    if program.version_command is None:
        path = shutil.which(program.name, path=_search_path(environment))
        return Installed(Path(path) if path else None)
    path = shutil.which(program.name, path=_search_path(environment))
    if path is None:
        return Installed(None)
    output = _ask(path, program.version_command)
    version = program.parse_version(output)
    if version is None:
        return Installed(None, f"{path} does not say its version")
    if program.accepted is not None and version not in program.accepted:
        found = ".".join(map(str, version))
        return Installed(
            None, f"{path} is {found}, needed is {program.accepted} ({program.accepted.reason})"
        )
    return Installed(Path(path))


def _search_path(environment: Mapping[str, str]) -> str:
    """PATH without the folders of sandboxes: what those hold came from the cache."""
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(f for f in folders if f and not _belongs_to_sandbox(Path(f)))


def _belongs_to_sandbox(folder: Path) -> bool:
    return SandboxLayout(folder.parent).is_sandbox()


def _plugin(program: SandboxProgram, environment: Mapping[str, str]) -> Installed:
    # Not PATH: a provider found there has no version the engine could check, and it warns each run.
    home = Path(environment.get("PULUMI_HOME") or "~/.pulumi").expanduser()
    path = home / "plugins" / ProviderPlugin().folder / program.name
    usable = os.access(path, os.X_OK) and path.is_file() and not _belongs_to_sandbox(home)
    return Installed(path if usable else None)


def _ask(path: str, arguments: tuple[str, ...]) -> str:
    try:
        result = subprocess.run(
            [path, *arguments],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"({problem})"
    return result.stdout + result.stderr
