"""Program: an installed chart, and the only place that decides its release.

Sources of the release, in this order: the wrapper that installs the chart, or the declaration; the
context file; the pinned release of the catalogue if neither names one. A release that is named but
cannot be read, such as `${VERSION}` or a range, is unknown: no default replaces it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from gpufleet.catalogue import Catalogue, load
from gpufleet.catalogue.features import NO_FEATURES, FeatureTable, Release, numbers
from gpufleet.cluster.fact import (
    NOTHING,
    UNKNOWN,
    Fact,
    Provenance,
    absent,
    known,
    unknown,
)
from gpufleet.cluster.subject import Subject
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings.locator import Locator

PARTS = {
    "nvidia-device-plugin": ("gpu-operator", "device-plugin"),
    "dra-driver-nvidia-gpu": ("gpu-operator", "dra-driver"),
    "mig-manager": ("gpu-operator", "mig-manager"),
}
"""Programs that another program can install: its name, and their key among its components."""
KUBERNETES = "kubernetes"
FORMER_NAMES = {
    "nvidia-dra-driver-gpu": "dra-driver-nvidia-gpu",
    "k8s-dra-driver-gpu": "dra-driver-nvidia-gpu",
}
"""Former names of charts: NVIDIA/k8s-dra-driver-gpu until 25.x, since then
kubernetes-sigs/dra-driver-nvidia-gpu."""
PINNED = "catalogue"
"""Place of a release that is named nowhere."""
_NOWHERE = Locator("", "")
_NOTHING = object()
_NEWEST = (1_000_000,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program(Subject):
    """A chart that is, or will be, installed in the cluster."""

    locator: Locator = _NOWHERE
    name: str | None = None
    """Name of the chart without repository, `gpu-operator`. None: not known."""
    release: Fact[str] = NOTHING
    """As a wrapper, a declaration or the context writes it; absent if none of them names it."""
    namespace: Fact[str] = NOTHING
    values: Mapping[str, Any] | None = None
    """Plain data; UNKNOWN replaces unreadable values. None: the values are not known."""
    complete: bool = True
    """False: it has more values, which cannot be read."""
    place: str = "values"
    """Field of the object that holds the values; empty: the file itself."""
    places: Mapping[str, str] | None = None
    """Value -> the field that its author wrote; values without an entry are defaults.
    None: each is written below `place`."""
    ownership: Fact[str] = NOTHING
    """Owner of the installation, in the words of a declaration: `managed`, `existing`, `gitops`."""

    def written_at(self, path: str) -> str:
        """The field with the value at a path; empty if it is not written."""
        if self.places is not None:
            return self.places.get(path, "")
        return "" if self.value(path) is None else self.field(path)

    def field(self, path: str) -> str:
        """The field in which the value at a path is, or would be, written."""
        if self.places is not None and path in self.places:
            return self.places[path]
        return f"{self.place}.{path}" if self.place else path

    def value(self, path: str) -> Any:
        """The value at a dotted path; None if it is not written or not known."""
        found = value_at(self.values, path)
        return None if found is UNKNOWN else found

    def hides(self, path: str) -> bool:
        """Whether a value at a path, above it or below it cannot be read."""
        here: Any = self.values
        for key in path.split("."):
            if here is UNKNOWN or not is_mapping(here):
                break
            here = here.get(key)
        return _has_unknown(here)

    def switch(self, path: str, default: bool) -> Fact[bool]:
        """Whether a part is on: as written, else the chart's default; unknown if unreadable values
        may change it."""
        place = f"{self.place}.{path}" if self.place else path
        if self.values is None:
            return unknown(place)
        found: Any = self.values
        for key in path.split("."):
            found = found.get(key, _NOTHING) if is_mapping(found) else found
            if found is _NOTHING or found is UNKNOWN:
                break
        if found is UNKNOWN or (found is _NOTHING and not self.complete):
            return unknown(place)
        if found is _NOTHING or found is None:
            return known(default, Provenance.DEFAULT, place)
        return known(bool(found), place=place)


def _has_unknown(value: Any) -> bool:
    if is_mapping(value):
        return any(map(_has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(_has_unknown, cast("list[Any]", value)))
    return value is UNKNOWN


def program_name(chart: str) -> str:
    """The present name of a chart."""
    return FORMER_NAMES.get(chart, chart)


def decided_release(
    program: str, written: Fact[str], given: Fact[str] = NOTHING, catalogue: Catalogue | None = None
) -> Fact[str]:
    """The release of a program.

    Args:
        program: Name of its chart.
        written: The release that the wrapper or the declaration names.
        given: The release that the context names.
        catalogue: Source of pinned releases. Default: the newest edition.
    """
    for named in (written, given):
        if named.is_known:
            return named
    for named in (written, given):
        if named.is_unknown:
            return named
    pin = (catalogue or load()).charts.get(program)
    if pin is None:
        return absent(PINNED)
    return known(pin.version, Provenance.DEFAULT, PINNED)


def part_release(program: str, host: Program, catalogue: Catalogue | None = None) -> Fact[str]:
    """The release of a program that another program (`host`) installs; unknown if the catalogue
    lacks the components of the host's release."""
    catalogue = catalogue or load()
    name, component = PARTS[program]
    chart = catalogue.chart(name)
    found = decided_release(name, host.release, catalogue=catalogue)
    if found.is_known and numbers(found.value) == numbers(chart.version):
        return known(chart.components[component], found.provenance, found.place)
    return unknown(found.place)


def pinned_part(program: str, catalogue: Catalogue | None = None) -> Fact[str]:
    """The release of a program that only another one installs, if that one's release is unknown."""
    name, component = PARTS[program]
    version = (catalogue or load()).chart(name).components[component]
    return known(version, Provenance.DEFAULT, PINNED)


@dataclass(frozen=True, slots=True)
class Reader:
    """A release of a program that reads values and configurations: its keys, fields and gates."""

    program: str
    release: Fact[str]
    features: FeatureTable = NO_FEATURES

    @property
    def numbers(self) -> Release | None:
        """Numbers of the release; None if not known."""
        return numbers(self.release.value) if self.release.is_known else None

    @property
    def at(self) -> Release:
        """The same in the numbering of the catalogue; an unknown release counts as newer than every
        known one, so that no field is reported as missing."""
        found = self.numbers
        return _NEWEST if found is None else self.features.in_order(found)

    @property
    def is_line(self) -> bool:
        """Whether it is any patch release of a minor line; the catalogue may lack the latest."""
        return self.release.is_known and re.search(r"^~|[xX*]$", self.release.value) is not None

    @property
    def is_default(self) -> bool:
        """Whether the pinned release is used because no source names one."""
        return self.release.provenance is Provenance.DEFAULT

    @property
    def gates(self) -> dict[str, bool]:
        """Every gate of the release, and whether it is on by default. If the release is not known:
        the gates of all releases, with their first default."""
        at = self.numbers
        if at is None:
            return {name: one.on for name, one in self.features.gates.items()}
        return self.features.gates_of(at)

    def __str__(self) -> str:
        return self.release.value.removeprefix("v") if self.release.is_known else "the release"
