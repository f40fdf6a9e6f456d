"""The cache of built and downloaded programs, shared by all sandboxes of a user.

`<cache>/<program>-<key>/` holds the executable and `digest.json`. The key is a hash of everything
that decides the result, so another pin is another folder. A folder appears in one step, by rename;
a file with another digest (truncated, overwritten) makes the entry invalid, and it is built
again.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.programs import SandboxProgram

CACHE_VARIABLE = "GPUFLEET_CACHE"
SCRATCH_PREFIX = ".making-"
_DIGEST = "digest.json"
_CHUNK = 1 << 20


def go_platform() -> tuple[str, str]:
    """Operating system and architecture as Go names them."""
    machine = platform.machine().lower()
    names = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
    return sys.platform, names.get(machine, machine)


def cache_folder() -> Path:
    """`$GPUFLEET_CACHE/programs`, else `~/.cache/gpufleet/programs` (XDG_CACHE_HOME honoured)."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named).expanduser().resolve() / "programs"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "gpufleet" / "programs"


def key(program: SandboxProgram, tools: Path, target: tuple[str, str]) -> str:
    """Hash of the pins, the sources of ours, the flags and the platform."""
    digest = hashlib.sha256()
    module = tools / program.module
    for file in sorted(module.rglob("*")):
        if file.is_file():
            name = file.relative_to(module).as_posix()
            digest.update(f"{name}\0".encode() + file.read_bytes())
    decisive = (program.package, program.version, program.linker, *program.flags, *target)
    digest.update("\0".join(decisive).encode())
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class CachedProgram:
    """One program of one key."""

    program: SandboxProgram
    cache: Path
    key: str

    @property
    def folder(self) -> Path:
        """Its folder once complete."""
        return self.cache / f"{self.program.name}-{self.key}"

    @property
    def executable(self) -> Path:
        """The program itself."""
        return self.folder / self.program.name

    @property
    def lock(self) -> Path:
        """Held by the one run that makes it."""
        return self.cache / f"{self.program.name}-{self.key}.lock"

    @property
    def scratch(self) -> Path:
        """Its build folder. Used under the lock only: older contents are of an interrupted run."""
        return self.cache / f"{SCRATCH_PREFIX}{self.program.name}-{self.key}"

    def is_valid(self) -> bool:
        """Whether every file exists and has its digest.

        Contents are hashed when a file's time is not the recorded one; the usual check costs no
        time.
        """
        try:
            recorded = json.loads((self.folder / _DIGEST).read_text(encoding="utf-8"))["files"]
            return self.program.name in recorded and all(
                _is_same(self.folder / name, entry) for name, entry in recorded.items()
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False  # no entry, or a damaged one: both are built again

    def source(self) -> str:
        """`build` or `download`."""
        return str(json.loads((self.folder / _DIGEST).read_text(encoding="utf-8"))["source"])

    def complete(self, made: Path, source: str) -> None:
        """Move a folder that holds the program into its place, with its digest.

        Raises:
            SandboxError: The folder does not hold the program.
        """
        executable = made / self.program.name
        if not executable.is_file():
            raise SandboxError(f"{self.program.name}: the {source} holds no file of that name")
        executable.chmod(0o755)
        files = {
            str(file.relative_to(made)): {
                "sha256": sha256(file),
                "size": file.stat().st_size,
                "mtime_ns": file.stat().st_mtime_ns,
            }
            for file in sorted(made.rglob("*"))
            if file.is_file() and not file.is_symlink()
        }
        document = {"program": self.program.name, "version": self.program.version}
        digest = json.dumps(document | {"source": source, "files": files}, indent=2)
        (made / _DIGEST).write_text(digest, encoding="utf-8")
        if self.folder.exists():
            shutil.rmtree(self.folder)
        made.rename(self.folder)


def _is_same(file: Path, entry: dict[str, object]) -> bool:
    status = file.stat()
    if status.st_size != entry["size"]:
        return False
    return status.st_mtime_ns == entry["mtime_ns"] or sha256(file) == entry["sha256"]


def sha256(file: Path) -> str:
    """Hex digest of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
