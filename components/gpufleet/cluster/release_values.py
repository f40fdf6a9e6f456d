"""A release of a chart: its version, the sources of its values, and the field of each value."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpufleet.catalogue import load
from gpufleet.catalogue.features import numbers
from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.program import program_name
from gpufleet.documents.shapes import as_list, as_mapping

Step = str | int

_VERSION = re.compile(r"v?\d+\.\d+\.\d+(?:[-+].*)?")
_LINE = re.compile(r"v?\d+\.\d+\.[xX*]|~v?\d+\.\d+\.\d+")
"""Every patch release of one minor release: `0.4.x`, `~0.4.1` (Masterminds/semver)."""


@dataclass(frozen=True, slots=True)
class HeldElsewhere:
    """A part of a release in another object or file."""

    kind: str
    """`ConfigMap`, `Secret`, `file`, `OCIRepository`, `HelmChart`, `folder`."""
    name: str
    """Name of the object; path of the file or folder, as written."""
    namespace: str = ""
    key: str = ""
    """Key of a ConfigMap or Secret."""
    optional: bool = False

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}" + (f" key {self.key}" if self.key else "")


@dataclass(frozen=True, slots=True)
class ValuesSource:
    """Some values of a release; later sources have precedence."""

    place: str
    """Field of the wrapper that holds the values, or names their source."""
    written: Any = None
    """A mapping, the text of one, or the value of `target`."""
    target: tuple[Step, ...] = ()
    """Path of the single value that it sets; empty: it sets several."""
    held: HeldElsewhere | None = None
    """Source of the values, while `written` is not known."""
    instead: bool = False
    """Whether it replaces the values that the chart itself has, and is not merged with them."""


@dataclass(frozen=True, slots=True)
class WrappedRelease:
    """One release of a chart."""

    chart: str | None
    """Name without repository. None: it is in another object or file, or not known."""
    version: str | None
    """As written: a version or a range."""
    place: str
    """Field of the wrapper that names the chart."""
    sources: tuple[ValuesSource, ...] = ()
    name: str = ""
    """Of the release."""
    namespace: str = ""
    """Namespace of the installation."""
    held: HeldElsewhere | None = None
    """Object or file with the chart's name, if the wrapper does not have it."""
    cluster: str = ""
    """Name of the target cluster in the wrapper, if it is not the wrapper's own cluster."""

    @property
    def release(self) -> Fact[str]:
        """The version, or a minor release whose patch releases do not differ in known facts;
        unknown for other ranges, names of branches and variables."""
        if self.version is None:
            return absent("version")
        exact = _VERSION.fullmatch(self.version) is not None
        if not exact and self.chart is not None and _LINE.fullmatch(self.version):
            table = load().features(program_name(self.chart))
            exact = not table.changes_after(numbers(self.version))
        return known(self.version, place=self.place) if exact else unknown(self.place)

    @property
    def needs(self) -> tuple[HeldElsewhere, ...]:
        """All parts that other objects or files hold."""
        found = [source.held for source in self.sources if source.held is not None]
        return (*((self.held,) if self.held is not None and self.chart is None else ()), *found)


@dataclass(frozen=True, slots=True)
class ReleaseValues:
    """The merged values of a release."""

    values: dict[str, Any]
    missing: tuple[str, ...]
    """Sources that were not found or cannot be read; empty: the values are complete."""
    parts: tuple[tuple[str, tuple[Step, ...], Any], ...]
    """Place, target and data of each source that was read."""

    @property
    def place(self) -> str:
        """The field with most values: the last source that gives more than one value."""
        whole = [place for place, target, _ in self.parts if not target]
        return whole[-1] if whole else (self.parts[-1][0] if self.parts else "")

    def place_of(self, path: str) -> str:
        """The field of the wrapper with the value at a path in the notation of `check`."""
        steps = steps_of(path)
        for place, target, data in reversed(self.parts):
            if target and steps[: len(target)] == target:
                return place
            if not target and _is_there(data, steps):
                return joined(place, path)
        return joined(self.place, path)


_PATH_STEP = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]|([^.\[\]]+)')


def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of a path in the notation of findings."""
    steps: list[Step] = []
    for quoted, bracket, plain in _PATH_STEP.findall(path):
        if quoted:
            steps.append(re.sub(r"\\(.)", r"\1", quoted))
        elif bracket:
            steps.append(int(bracket) if bracket.isdecimal() else bracket)
        else:
            steps.append(plain)
    return tuple(steps)


def joined(place: str, path: str) -> str:
    """A path below a place."""
    if not place or not path:
        return place or path
    return f"{place}{path}" if path.startswith("[") else f"{place}.{path}"


def _is_there(data: Any, steps: Iterable[Step]) -> bool:
    here = data
    for step in steps:
        items, entries = as_list(here), as_mapping(here)
        if entries is not None and step in entries:
            here = entries[str(step)]
        elif items is not None and isinstance(step, int) and step < len(items):
            here = items[step]
        else:
            return False
    return True
