"""The files of a policy pack for a project that installs gpufleet instead of living in it."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from gpufleet.documents.shapes import is_mapping
from gpufleet.documents.whole_file import write_whole_text

DESCRIPTION = """\
description: GPU waste and impossibility, refused before anything is made
runtime:
  name: python
  options:
    # Relative to this folder; `pulumi install` in this folder makes it. Point it at the
    # environment of your program to share one.
    virtualenv: {virtualenv}
version: 0.1.0
"""

PROGRAM = '''\
"""Starts the policy pack of gpufleet. Print nothing before `start`: the engine reads its output."""

from pathlib import Path

from gpufleet_policies.fronts.crossguard import start

start(Path(__file__).parent)
'''

DISTRIBUTION = "pulumi-gpufleet"
REQUIREMENTS = """\
# What the pack runs with; `pulumi install` in this folder installs it. This file is yours: name a
# wheel in your repository or `git+URL@TAG`.
{requirement}
"""

SETTINGS = """\
# Settings of the gpufleet rules; docs/policies.md explains each. This file is yours.
# Levels of one run: --policy-pack-config with {"all": "disabled", "gpu-idle-command": "mandatory"}
# Profile: prod refuses plain waste; auto only where the environment is production, else it advises.
profile: prod            # auto (by environment) | dev | prod | strict
# environment: dev         # of objects that do not say it; default: from the stack's name
# fleet: ../Pulumi.prod.yaml   # pools of workloads whose GpuFleet is in another program
# rules: {gpu-idle-command: mandatory}
# exceptions:
#   - {rule: gpu-idle-command, object: "Deployment ml/debug", reason: "...", until: 2027-01-31}
# thresholds: {budgetUsdPerHour: 100}
"""


@dataclass(frozen=True, slots=True)
class PackFolder:
    """What was done with each file."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    changed: tuple[str, ...]
    """Files with other contents than ours: nothing was written at all."""
    local: bool = False
    """Whether requirements.txt names a file of this machine, which other machines lack."""


def own_requirement() -> str:
    """How pip gets what runs here: the same version, or the folder or wheel it came from.

    Nothing is asked of an index that may not have it: what was installed from a file or a checkout
    is named by that.
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
    """What pip gets to install the same again (PEP 610); None: it came from an index."""
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
    files = {"PulumiPolicy.yaml": DESCRIPTION.format(virtualenv=virtualenv), "__main__.py": PROGRAM}
    once = {
        "requirements.txt": REQUIREMENTS.format(requirement=requirement or own_requirement()),
        "gpu-policy.yaml": SETTINGS,
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


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""
