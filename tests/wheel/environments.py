"""Virtual environments with built wheels and what they require; the checkout is not on the path."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = {"pulumi-gpufleet", "gpufleet-sandbox"}
ROOT = Path(__file__).parents[2]
ROOTS = ("components", "policies", "planner", "sandbox")


def build(source: Path, out: Path, *, kind: str = "wheel") -> Path:
    """The wheel (or `sdist`) of a project, built as a release is; nothing is downloaded for it."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@dataclass(frozen=True)
class Installed:
    """An environment that has wheels and the packages they require, nothing else."""

    python: Path
    folder: Path
    """An empty folder, the working directory of every command."""

    @contextmanager
    def with_extras(self, *extras: str) -> Iterator[None]:
        """For a while, also with what these extras require."""
        added = _link_required(self.python, extras)
        try:
            yield
        finally:
            for link in added:
                link.unlink()

    def run(self, *command: str, status: int = 0) -> str:
        """Standard output of a command of this environment, which must end with `status`."""
        return self._done(command, status).stdout

    def refused(self, *command: str) -> str:
        """Standard error of a command that must exit 2 and print nothing else."""
        done = self._done(command, 2)
        assert done.stdout == ""
        return done.stderr

    def failed(self, *command: str) -> str:
        """Standard error of a command that must exit 1."""
        return self._done(command, 1).stderr

    def _done(self, command: tuple[str, ...], status: int) -> subprocess.CompletedProcess[str]:
        kept = ("PATH", "HOME", "GPUFLEET_CACHE")
        done = subprocess.run(
            [str(self.python.parent / command[0]), *command[1:]],
            cwd=self.folder,
            env={name: os.environ[name] for name in kept if name in os.environ},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done


def install(folder: Path, wheels: Iterable[Path], *, extras: Iterable[str] = ()) -> Installed:
    """A new environment in `folder` with these wheels, and links to all that they require.

    The packages are those of the environment that the tests run in, so nothing is downloaded.
    """
    place, elsewhere = folder / "environment", folder / "elsewhere"
    elsewhere.mkdir()
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    files = [str(wheel) for wheel in wheels]
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "install", *options, *files], check=True)
    _copy_compiled(_packages(python))
    _link_required(python, extras)
    return Installed(python, elsewhere)


def _packages(python: Path) -> Path:
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    return packages


def _copy_compiled(packages: Path) -> None:
    """Use the compiled files of the checkout: to compile all modules takes longer than a test."""
    for source in (file for root in ROOTS for file in (ROOT / root).glob("gpufleet*/**/*.py")):
        root = next(one for one in source.parents if one.name in ROOTS and one.parent == ROOT)
        module = packages / source.relative_to(root)
        compiled = Path(cache_from_source(str(source)))
        if not compiled.is_file() or not module.is_file():
            continue
        if module.read_bytes() == source.read_bytes():
            # A compiled file names the time and size of its source.
            times = source.stat()
            os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
            target = Path(cache_from_source(str(module)))
            target.parent.mkdir(exist_ok=True)
            shutil.copy(compiled, target)


def _link_required(python: Path, extras: Iterable[str]) -> list[Path]:
    """Links to all that our wheels require, with extras, and that is not there yet."""
    packages = _packages(python)
    metadata = [one for one in packages.glob("*.dist-info") if not one.is_symlink()]
    ours = [Distribution.at(one) for one in metadata]
    required = {canonicalize_name(one.metadata["Name"]): one for one in ours}
    for one in ours:
        _add_required(one, frozenset(extras), required)
    added: list[Path] = []
    for package in [one for one in required.values() if one not in ours]:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(package.locate_file(name))))
                added.append(packages / name)
    return added


def _add_required(
    of: Distribution, extras: frozenset[str], required: dict[str, Distribution]
) -> None:
    for text in of.requires or ():
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        if name in OURS:
            if requirement.extras:  # `all` names other extras, the sandbox those of the product
                _add_required(required[name], frozenset(requirement.extras), required)
        elif name not in required:
            required[name] = distribution(name)
            _add_required(required[name], frozenset(requirement.extras), required)
