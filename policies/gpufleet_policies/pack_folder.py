"""The files of a policy pack for a project that installs gpufleet instead of living in it."""

from dataclasses import dataclass
from pathlib import Path

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

REQUIREMENTS = "pulumi-gpufleet[policies]\n"

SETTINGS = """\
# Settings of the gpufleet rules; docs/policies.md explains each. This file is yours.
# profile: auto            # auto (by environment) | dev | prod | strict
# environment: dev         # where workloads run that do not say it themselves
# fleet: ../Pulumi.prod.yaml   # pools of workloads whose GpuFleet is in another program
# rules: {gpu-idle-command: mandatory}
# exceptions:
#   - {rule: gpu-idle-command, object: "Deployment ml/debug", reason: "...", until: 2030-01-31}
# thresholds: {budgetUsdPerHour: 100}
"""


@dataclass(frozen=True, slots=True)
class PackFolder:
    """What was done with each file."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    changed: tuple[str, ...]
    """Files with other contents than ours: nothing was written at all."""


def write_pack(folder: Path, virtualenv: str = "venv") -> PackFolder:
    """Write the pack's files; a second time changes nothing, and changed files are never touched.

    The settings file is written once and belongs to the project from then on. Raises OSError when
    the folder cannot be written.
    """
    files = {
        "PulumiPolicy.yaml": DESCRIPTION.format(virtualenv=virtualenv),
        "__main__.py": PROGRAM,
        "requirements.txt": REQUIREMENTS,
    }
    present = {name: _text(folder / name) for name in files}
    changed = tuple(n for n, text in present.items() if text is not None and text != files[n])
    unchanged = [name for name, text in present.items() if text == files[name]]
    if changed:
        return PackFolder((), tuple(unchanged), changed)
    missing = {name: text for name, text in files.items() if present[name] is None}
    if _text(folder / "gpu-policy.yaml") is None:
        missing["gpu-policy.yaml"] = SETTINGS
    else:
        unchanged.append("gpu-policy.yaml")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in missing.items():
        (folder / name).write_text(text, encoding="utf-8")
    return PackFolder(tuple(missing), tuple(unchanged), ())


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return ""
