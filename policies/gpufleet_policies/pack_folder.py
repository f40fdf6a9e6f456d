"""The files of a policy pack for a project that installs gpufleet instead of living in it."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from gpufleet.documents.shapes import is_mapping
from gpufleet.documents.whole_file import write_whole_text

DISTRIBUTION = "pulumi-gpufleet"
_FILES = Path(__file__).with_name("pack_files")
"""Contents of the files of a new folder."""


@dataclass(frozen=True, slots=True)
class PackFolder:
    """Result for each file."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    refused: tuple[str, ...]
    """Files with other contents than ours: nothing was written at all."""
    local: bool = False
    """Whether requirements.txt names a file of this machine, which other machines lack."""


def own_requirement() -> str:
    """The pip requirement of the running version: its number, or the folder or wheel it came from.

    A version that was installed from a file or a checkout is named by that, because no index may
    have it.
    """
    try:
        here = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return f"{DISTRIBUTION}[policies]"
    origin = _origin(here.read_text("direct_url.json"))
    if origin is None:
        return f"{DISTRIBUTION}[policies]=={here.version}"
    return f"{DISTRIBUTION}[policies] @ {origin}"


def documentation_site() -> str | None:
    """Address of the documentation in the metadata of what is installed; None: it has none."""
    try:
        urls = distribution(DISTRIBUTION).metadata.get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(url.split(", ", 1) for url in urls if ", " in url)
    return named.get("Documentation")


def _origin(text: str | None) -> str | None:
    """The requirement that installs the same again (PEP 610); None: it came from an index."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return None
    url = found.get("url") if is_mapping(found) else None
    if not is_mapping(found) or not isinstance(url, str):
        return None
    repository = found.get("vcs_info")
    if is_mapping(repository):
        return f"{repository.get('vcs')}+{url}@{repository.get('commit_id')}"
    return url


def requirement_of(wheel: Path) -> str:
    """The requirement that installs a wheel, or a checkout, by its path."""
    return f"{DISTRIBUTION}[policies] @ {wheel.resolve().as_uri()}"


def write_pack(
    folder: Path, virtualenv: str = "venv", requirement: str | None = None
) -> PackFolder:
    """Write the pack's files; a second time changes nothing, and changed files are never touched.

    Settings and requirements are written once and belong to the project from then on. Raises
    OSError when the folder cannot be written.
    """
    files = {
        "PulumiPolicy.yaml": _ours("PulumiPolicy.yaml").format(virtualenv=virtualenv),
        "__main__.py": _ours("main.txt"),
    }
    once = {
        "requirements.txt": _ours("requirements.txt").format(
            requirement=requirement or own_requirement()
        ),
        "gpu-policy.yaml": _ours("gpu-policy.yaml"),
        ".gitignore": "__pycache__/\n/venv/\n",
    }
    present = {name: _text(folder / name) for name in files}
    changed = tuple(n for n, text in present.items() if text is not None and text != files[n])
    unchanged = [name for name, text in present.items() if text == files[name]]
    if changed:
        return PackFolder((), tuple(unchanged), changed)
    missing = {name: text for name, text in files.items() if present[name] is None}
    for name, text in once.items():
        if _text(folder / name) is None:
            missing[name] = text
        else:
            unchanged.append(name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in missing.items():
        write_whole_text(folder / name, text)
    requires = _text(folder / "requirements.txt") or ""
    return PackFolder(tuple(missing), tuple(unchanged), (), local="file://" in requires)


def _ours(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""
