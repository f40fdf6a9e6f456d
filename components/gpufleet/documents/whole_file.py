"""Files that are written completely or not at all.

The content goes into a new file of the same folder, which then takes the place of the old one. A
full disk, a stopped program or a failed check leaves the old file as it was.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

_DEVICES = ("/dev/", "/proc/")


class FileChangedError(Exception):
    """The file holds something else than the caller has read; nothing was written."""


def write_whole(path: Path, content: bytes, *, replaces: bytes | None = None) -> None:
    """Write a file completely or not at all. Access rights of an existing file stay.

    A symbolic link is followed inside its own folder only. Devices and pipes are written directly.

    Args:
        path: The file; its folder exists.
        content: All of it.
        replaces: Content that the file must still have; None: any, or no file.

    Raises:
        FileChangedError: the file has other content than `replaces`.
        OSError: it cannot be written, or is a link that leads out of its folder.
    """
    if str(path).startswith(_DEVICES) or _is_special(path):
        with path.open("wb") as device:
            device.write(content)
        return
    target = _target(path)
    new = target.parent / f".gpufleet-{os.urandom(8).hex()}.tmp"
    try:
        _write_new(new, content, target)
        _require(target, replaces)
        new.replace(target)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
    _keep_name(target.parent)


def write_whole_text(path: Path, text: str) -> None:
    """The same for UTF-8 text; a name that no encoding has is written as JSON escapes it."""
    write_whole(path, text.encode(errors="backslashreplace"))


def _is_special(path: Path) -> bool:
    """Whether it is there and is neither a file nor a folder: a pipe, a device."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _target(path: Path) -> Path:
    """The file that a path refers to. Raises OSError for a link that leads out of its folder."""
    if not path.is_symlink():
        return path
    folder = path.parent.resolve()
    target = path.resolve()
    if not target.is_relative_to(folder):
        raise OSError(0, "is a link that leads out of its folder; name the file itself", str(path))
    return target


def _write_new(new: Path, content: bytes, target: Path) -> None:
    number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(number, "wb") as file:
        with suppress(FileNotFoundError):
            there = target.stat()
            os.fchmod(number, stat.S_IMODE(there.st_mode))
            with suppress(PermissionError):  # files of others are replaced by one of ours
                os.fchown(number, there.st_uid, there.st_gid)
        file.write(content)
        file.flush()
        os.fsync(number)


def _require(target: Path, content: bytes | None) -> None:
    if content is not None and target.read_bytes() != content:
        raise FileChangedError(f"{target} was changed by another program")


def _keep_name(folder: Path) -> None:
    """Make the new name durable against a power failure, if the file system supports it."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
