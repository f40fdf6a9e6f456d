"""Objects that were not validated, and those that must be read together with other files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpufleet.cluster.release_values import WrappedRelease
from gpufleet.cluster.subject import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudged(Subject):
    """An object, or a part of one, that no rule validated."""

    what: str
    """Kind of reason: a key of `fronts.audit.unjudged.KINDS`."""
    reason: str
    place: str = ""
    """Field that it concerns; empty: the whole object."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The same with its place in a file."""

    file: str
    line: int
    """Counted from 1; 0: the whole file."""
    object: str
    """Its name, or the field that it concerns."""
    what: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnopenedRelease(Subject):
    """A release of a chart, parts of which are in other objects or files."""

    release: WrappedRelease
    document: Mapping[str, Any] | None = None
    """The ApplicationSet that it is of; None: another object."""
