"""The files of an audit: the named files, and files below folders that may hold declarations."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpufleet.documents.path_globs import matches

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
"""Endings of files that are read below folders, also before an ending of `_TEMPLATES`. A file that
is named itself may have any."""

_TEMPLATES = re.compile(r"\.(?:gotmpl|tpl|tftpl)$")
"""Endings of what helmfile or Terraform fills in."""

TERRAFORM = frozenset({".tf", ".tofu", ".tfvars"})
"""Endings of files that are read together with the others of their folder."""

STANDARD_INPUT = "-"

_LISTED = SUFFIXES | TERRAFORM
_SKIPPED_FOLDERS = frozenset({"node_modules", "venv", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class Input:
    """One text to audit."""

    name: str
    """Its name in reports: the path as typed, and the path below it."""
    named: bool = True
    """Whether the caller named the file itself, not only a folder above it."""
    content: bytes | None = None
    """Content that replaces the file; None: the file itself."""
    refused: str = ""
    """Why it is not read; empty: it is."""


def find_inputs(
    paths: Sequence[str], include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> list[Input]:
    """Every input once, in the order of the arguments and then by path.

    Patterns of `include` and `exclude` (`gpufleet.documents.path_globs`) choose among them.

    Hidden folders, virtual environments and symbolic links to folders are left out. Links to files
    outside of the named folder are refused. Raises FileNotFoundError, with the path, for an
    argument that does not exist.
    """
    found: dict[str, Input] = {}
    for path in paths:
        if path == STANDARD_INPUT:
            found.setdefault(path, Input(path))
        elif Path(path).is_dir():
            root = os.path.realpath(path).removesuffix(os.sep) + os.sep
            for name, identity in _below(path):
                outside = "" if identity.startswith(root) else _LEADS_OUT
                found.setdefault(identity, Input(name, named=False, refused=outside))
        elif Path(path).exists():
            found.setdefault(os.path.realpath(path), Input(path))
        else:
            os.stat(path)  # noqa: PTH116  raises, with its own reason
    return [
        one
        for one in found.values()
        if (not include or matches(one.name, include)) and not matches(one.name, exclude)
    ]


_LEADS_OUT = "a link to a file outside the folder; name the file itself to read it"


def _below(folder: str) -> Iterator[tuple[str, str]]:
    """Name and identity of each file, folder by folder, in order."""
    waiting = [os.path.normpath(folder)]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                there = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue  # no permission to read it
        # Symbolic links in the way are followed once for a folder, not for each of its files.
        resolved = os.path.realpath(here)
        prefix = "" if here == os.curdir else f"{here.rstrip(os.sep)}{os.sep}"
        folders: list[str] = []
        for entry in there:
            name = entry.name
            ending = os.path.splitext(_TEMPLATES.sub("", name))[1].lower()  # noqa: PTH122
            if _answers(entry.is_dir):
                hidden = name.startswith(".") or name in _SKIPPED_FOLDERS
                if not hidden and not entry.is_symlink():
                    folders.append(f"{prefix}{name}")
            elif ending in _LISTED and _answers(entry.is_file):
                whole = os.path.join(resolved, name)  # noqa: PTH118
                if entry.is_symlink():
                    whole = os.path.realpath(whole)
                yield f"{prefix}{name}", whole
        waiting += reversed(folders)


def _answers(question: Callable[[], bool]) -> bool:
    """Whether the predicate holds; False for a path that cannot be read."""
    try:
        return question()
    except OSError:
        return False
