"""Rendered files on disk: no partial result, no changes of other files.

A file `gpufleet-files.json` in the folder lists the rendered files. A run first computes
everything, writes all files next to their places, records them in the list, and only then moves
them into place; if it is stopped, the next run repairs the folder.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast

from gpufleet.cli.output import UnreadableInputError, refusing
from gpufleet.findings import Finding, findings_in
from gpufleet.render.artefact import Artefact

_finding = findings_in(__file__)

INDEX = "gpufleet-files.json"
"""The list of our files, in the folder itself."""
_FORMAT = 1
_STAGING = ".gpufleet-staging-"


@dataclass(frozen=True, slots=True)
class FileChange:
    """Change of one file in a run."""

    path: str
    status: str
    """`new`, `changed`, `unchanged` or `removed`."""
    artefact: Artefact | None
    """None for a removed file."""


@dataclass(frozen=True, slots=True)
class FolderPlan:
    """All changes of a run to a folder, and reasons against them."""

    folder: Path
    changes: tuple[FileChange, ...]
    ours: dict[str, str]
    """Path -> digest of existing files of earlier runs."""
    findings: tuple[Finding, ...]


def plan_folder(folder: Path, files: Sequence[Artefact]) -> FolderPlan:
    """Compare files with a folder, which need not exist. Writes nothing.

    An existing different file that is not in the list is an error. A listed file that is no longer
    rendered is removed, unless it was changed: then it stays, with a warning.

    Raises UnreadableInputError when the folder or its list cannot be read.
    """
    with refusing(file=folder):
        return _plan(folder, files)


def apply_plan(plan: FolderPlan) -> None:
    """Make the changes. Raises UnreadableInputError when the folder cannot be written."""
    with refusing(file=plan.folder):
        _apply(plan)


def digest(data: bytes) -> str:
    """Digest of a file in the list: SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _plan(folder: Path, files: Sequence[Artefact]) -> FolderPlan:
    if folder.exists() and not folder.is_dir():
        raise UnreadableInputError(f"{folder}: not a folder")
    listed = _read_index(folder / INDEX)
    changes: list[FileChange] = []
    findings: list[Finding] = []
    for file in files:
        there, problem = _existing(folder, file.path)
        foreign = there is not None and file.path not in listed
        if foreign and there != file.text.encode():
            problem = "a file exists that no earlier run wrote"
        if problem is not None:
            place = str(folder / file.path)
            findings.append(_finding("render-place-taken", place, why=problem))
        status = "new" if there is None else "changed"
        if there == file.text.encode():
            status = "unchanged"
        changes.append(FileChange(file.path, status, file))
    wanted = {file.path for file in files}
    ours: dict[str, str] = {}
    for path, known in sorted(listed.items()):
        there, problem = _existing(folder, path)
        if problem is not None or there is None:
            continue
        ours[path] = known
        if path in wanted:
            continue
        if digest(there) == known:
            changes.append(FileChange(path, "removed", None))
        else:
            del ours[path]
            findings.append(_finding("render-leftover-changed", str(folder / path)))
    ordered = sorted(changes, key=lambda change: change.path)
    return FolderPlan(folder, tuple(ordered), ours, tuple(findings))


def _existing(folder: Path, path: str) -> tuple[bytes | None, str | None]:
    """Bytes of a file, None if it does not exist; or the obstacle."""
    place = folder
    *parents, name = PurePosixPath(path).parts
    for part in parents:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return None, f"{place} is a link or a file, not a folder"
    place /= name
    if place.is_symlink() or place.is_dir():
        return None, f"a {'link' if place.is_symlink() else 'folder'} exists at this path"
    return (place.read_bytes() if place.exists() else None), None


def _read_index(index: Path) -> dict[str, str]:
    """Path -> digest of the files of earlier runs."""
    if not index.exists():
        return {}
    spoilt = UnreadableInputError(
        f"{index}: this version did not write the list; if you remove it, its files are no longer "
        "managed"
    )
    try:
        document: Any = json.loads(index.read_bytes())
    except (ValueError, RecursionError):
        raise spoilt from None
    listing = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    entries: Any = listing.get("files")
    if not isinstance(entries, list) or listing.get("format") != _FORMAT:
        raise spoilt
    listed: dict[str, str] = {}
    for entry in cast("list[Any]", entries):
        fields: dict[str, Any] = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        path, known = fields.get("path"), fields.get("sha256")
        if not isinstance(path, str) or not isinstance(known, str) or not _inside(path):
            raise spoilt
        listed[path] = known
    return listed


def _inside(path: str) -> bool:
    """Whether a path of the list can only be a file below the folder."""
    parts = PurePosixPath(path).parts
    clean = bool(parts) and "/".join(parts) == path and "\\" not in path and "\0" not in path
    return clean and parts[0] != "/" and not {"..", "."} & set(parts)


def _apply(plan: FolderPlan) -> None:
    folder = plan.folder
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_STAGING}*"):  # from a stopped run
        shutil.rmtree(left)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
    try:
        files = [change.artefact for change in plan.changes if change.artefact is not None]
        written = [
            change.artefact
            for change in plan.changes
            if change.artefact is not None and change.status != "unchanged"
        ]
        for number, file in enumerate(written):
            _write(staging / str(number), file.text.encode())
        # The files of both runs are listed until the last one is in place.
        now = {file.path: digest(file.text.encode()) for file in files}
        _move_index(folder, staging, {**plan.ours, **now}, files)
        for number, file in enumerate(written):
            place = folder / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            (staging / str(number)).replace(place)
        for change in plan.changes:
            if change.status == "removed":
                _remove(folder, change.path)
        _move_index(folder, staging, now, files)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _move_index(
    folder: Path, staging: Path, listed: dict[str, str], files: Sequence[Artefact]
) -> None:
    known = {file.path: file for file in files}
    entries = [
        {
            "path": path,
            **(
                {"kind": known[path].kind.value, "purpose": known[path].purpose}
                if path in known
                else {}
            ),
            "sha256": sha256,
        }
        for path, sha256 in sorted(listed.items())
    ]
    document = {
        "comment": "Written by `gpufleet render`, which removes files listed here when they are "
        "no longer rendered.",
        "format": _FORMAT,
        "files": entries,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if (folder / INDEX).exists() and (folder / INDEX).read_bytes() == text.encode():
        return
    _write(staging / INDEX, text.encode())
    (staging / INDEX).replace(folder / INDEX)


def _write(place: Path, data: bytes) -> None:
    with place.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _remove(folder: Path, path: str) -> None:
    """Remove a listed file, and the folders that become empty."""
    place = folder / path
    place.unlink(missing_ok=True)
    for parent in place.parents:
        if parent == folder or any(parent.iterdir()):
            return
        parent.rmdir()
