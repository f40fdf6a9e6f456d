"""Persistent state of one sandbox between commands: its ports and its processes."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_VERSION = 1


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One started process. A process id alone is not enough: the system gives it out again."""

    pid: int
    started: float
    """Start time as the system reports it, in seconds since 1970 (UTC)."""
    fingerprint: str
    """Digest of program, arguments and configuration; another one means: start again."""


@dataclass(slots=True)
class SandboxState:
    """The recorded state. `load` never fails: a damaged record is rebuilt from what runs."""

    ports: dict[str, int] = field(default_factory=dict[str, int])
    processes: dict[str, ProcessRecord] = field(default_factory=dict[str, ProcessRecord])
    damaged: str | None = None
    """Why the record on disk could not be used, or None."""

    @classmethod
    def load(cls, path: Path) -> "SandboxState":
        """Read the record; an absent file is an empty state, an unreadable one is `damaged`."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError) as problem:
            return cls(damaged=str(problem))
        try:
            return _parse(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            return cls(damaged=f"{type(problem).__name__}: {problem}")

    def save(self, path: Path) -> None:
        """Write the record in one step, so that a reader sees the old or the new one."""
        document = {
            "version": _VERSION,
            "ports": self.ports,
            "processes": {name: asdict(record) for name, record in self.processes.items()},
        }
        write_atomically(path, json.dumps(document, indent=2, sort_keys=True) + "\n")


def _parse(document: Any) -> SandboxState:
    if document["version"] != _VERSION:
        raise ValueError(f"version {document['version']!r}, expected {_VERSION}")
    ports = {str(name): int(port) for name, port in document["ports"].items()}
    processes = {
        str(name): ProcessRecord(
            int(entry["pid"]), float(entry["started"]), str(entry["fingerprint"])
        )
        for name, entry in document["processes"].items()
    }
    return SandboxState(ports, processes)


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file in one step: written next to it, then renamed over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
