"""Requirements of a wheel in the versions and with the checksums of the lock."""

import re
import zipfile
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from release.reproducible import ROOT

ENTRY = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def requirements_of(wheel: Path) -> str:
    """All that a wheel without extras requires, as `pip install --require-hashes` reads it."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    entries = {canonicalize_name(found[1]): found[0] for found in ENTRY.finditer(text)}
    needed: set[NormalizedName] = set()
    waiting: list[tuple[Distribution, set[str]]] = [(_metadata(wheel), set())]
    while waiting:
        one, extras = waiting.pop()
        for requirement in map(Requirement, one.requires or ()):
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
                continue
            name = canonicalize_name(requirement.name)
            if name not in needed:
                needed.add(name)
                waiting.append((distribution(name), requirement.extras))
    return "".join(entries[name] for name in sorted(needed))


def _metadata(wheel: Path) -> Distribution:
    root = zipfile.Path(wheel)
    (folder,) = (one for one in root.iterdir() if one.name.endswith(".dist-info"))
    # A path inside an archive has what a distribution asks of a path.
    return PathDistribution(folder)  # pyright: ignore[reportArgumentType]
