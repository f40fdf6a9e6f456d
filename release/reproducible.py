"""Archives and checksums that depend on the contents of files alone."""

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
EPOCH = "SOURCE_DATE_EPOCH"


def date_of_sources() -> int:
    """Seconds of SOURCE_DATE_EPOCH, else of the last commit."""
    if EPOCH in os.environ:
        return int(os.environ[EPOCH])
    return int(git("log", "-1", "--format=%ct"))


def git(*arguments: str) -> str:
    """What git prints in this checkout. Raises CalledProcessError outside of one."""
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def files_of(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Each file below a folder by its path; folders of the names in `without` are left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(without)
    }


def write_archive(target: Path, files: Mapping[str, bytes]) -> None:
    """A .tar.gz of these files: sorted, of one date, of no user."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), date_of_sources(), 0o644
            archive.addfile(entry, io.BytesIO(content))
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def sha256(file: Path) -> str:
    """The checksum of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
