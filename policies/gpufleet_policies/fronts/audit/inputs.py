"""Which files are audited: those that are named, and what may hold declarations below folders."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpufleet.records import record

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
"""Endings of files that are read below folders. A file that is named itself may have any."""

STANDARD_INPUT = "-"

_SKIPPED_FOLDERS = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})


@record
class Input:
    """One text to audit."""

    name: str
    """As reports call it: the path as it was typed, and below it."""
    named: bool = True
    """Whether the caller named the file itself, not only a folder above it."""


def find_inputs(paths: Sequence[str]) -> list[Input]:
    """Every input once, in the order of the arguments and then by path.

    Hidden folders, virtual environments and symbolic links to folders are left out. Raises
    FileNotFoundError, with the path, for an argument that does not exist.
    """
    found: dict[str, Input] = {}
    for path in paths:
        if path == STANDARD_INPUT:
            found.setdefault(path, Input(path))
        elif Path(path).is_dir():
            for name in _below(path):
                found.setdefault(_identity(name), Input(name, named=False))
        elif Path(path).exists():
            found.setdefault(_identity(path), Input(path))
        else:
            raise FileNotFoundError(2, "No such file or directory", path)
    return list(found.values())


def _below(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        for name in sorted(files):
            path = os.path.join(here, name)  # noqa: PTH118  strings: thousands of files
            if os.path.splitext(name)[1].lower() in SUFFIXES and os.path.isfile(path):  # noqa: PTH113, PTH122
                yield os.path.normpath(path)


def _identity(path: str) -> str:
    return os.path.realpath(path)
