"""Virtual environments with built wheels and what they require; the checkout is not on the path."""

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = {"pulumi-gpufleet", "gpufleet-sandbox"}


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
    # Most modules of ours are never imported here: none is compiled before.
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "install", *options, *files], check=True)
    (packages,) = place.glob("lib/python*/site-packages")
    ours = [Distribution.at(metadata) for metadata in packages.glob("*.dist-info")]
    required = {canonicalize_name(one.metadata["Name"]): one for one in ours}
    for one in ours:
        _add_required(one, frozenset(extras), required)
    for package in [one for one in required.values() if one not in ours]:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(package.locate_file(name))))
    return Installed(python, elsewhere)


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
