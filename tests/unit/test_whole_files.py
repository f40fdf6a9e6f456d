"""Files are written whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpufleet.documents.path_globs import matches
from gpufleet.documents.whole_file import FileChangedError, write_whole, write_whole_text

OLD = b"old content\n" * 100
NEW = b"new content, which is longer\n" * 1000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.json"
    path.write_bytes(OLD)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_content_rights_and_neighbours(file: Path):
    file.chmod(0o640)
    write_whole(file, NEW)
    assert file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    write_whole(file.with_name("second"), b"")
    assert stat.S_IMODE(file.with_name("second").stat().st_mode) == 0o666 & ~_umask()
    assert names(file.parent) == ["file.json", "second"]
    write_whole_text(file, "\udcff")
    assert file.read_text() == "\\udcff"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
def test_a_failure_at_any_step_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, broken: str
):
    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if broken == "replace":
        monkeypatch.setattr(Path, "replace", full)
    elif broken == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr("gpufleet.documents.whole_file._write_new", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(file, NEW)
    assert file.read_bytes() == OLD
    assert names(file.parent) == ["file.json"], "nothing half-made stays"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path):
    """A real file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a file system here")
    try:
        file = disk / "file.json"
        file.write_bytes(OLD)
        with pytest.raises(OSError, match="No space left on device"):
            write_whole(file, b"x" * (200 << 10))
        assert file.read_bytes() == OLD
        assert names(disk) == ["file.json"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_killed_program_leaves_the_old_file(file: Path):
    program = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from gpufleet.documents.whole_file import write_whole\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(Path(sys.argv[1]), b'x' * 100000)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
    assert done.returncode == -9
    assert file.read_bytes() == OLD


def test_a_file_that_another_program_changed_is_kept(file: Path):
    with pytest.raises(FileChangedError, match="was changed by another program"):
        write_whole(file, NEW, replaces=b"what was read")
    assert file.read_bytes() == OLD
    write_whole(file, NEW, replaces=OLD)
    assert file.read_bytes() == NEW


def test_links_are_followed_inside_their_folder_only(file: Path, tmp_path: Path):
    inside = tmp_path / "link"
    inside.symlink_to("file.json")
    write_whole(inside, NEW)
    assert inside.is_symlink()
    assert file.read_bytes() == NEW
    (tmp_path / "folder").mkdir()
    outside = tmp_path / "folder" / "link"
    outside.symlink_to(file)
    with pytest.raises(OSError, match="is a link that leads out of its folder"):
        write_whole(outside, OLD)
    assert file.read_bytes() == NEW


def test_devices_are_written_directly():
    write_whole(Path("/dev/null"), NEW)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("deploy/a/b.yaml", "deploy", True),
        ("deploy/a/b.yaml", "deploy/", True),
        ("deploy/a/b.yaml", "./deploy/a", True),
        ("deploy/a/b.yaml", "a", True),
        ("deploy/a/b.yaml", "deploy/*.yaml", True),
        ("deploy/a/b.yaml", "*.yaml", True),
        ("deploy/a/b.yaml", "**/b.yaml", True),
        ("b.yaml", "**/b.yaml", True),
        ("./b.yaml", "b.yaml", True),
        ("deploy/a/b.yaml", "a/b.yaml", False),
        ("deploy/a/b.yaml", "deploy/b*", False),
        ("deploy/a/b.yaml", "deploy2", False),
        ("deploy/a/b.yaml", "B.yaml", False),
        ("/srv/deploy/b.yaml", "deploy", True),
        ("deploy/a[1].yaml", "deploy/a[1].yaml", True),
        ("-", "-", True),
    ],
)
def test_names_match_patterns(name: str, pattern: str, expected: bool):
    assert matches(name, [pattern]) is expected
