"""Objects that were not validated, and those that must be read together with other files."""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class UnopenedRelease(Subject):
    """A release of a chart, parts of which are in other objects or files."""

    release: WrappedRelease
    document: Mapping[str, Any] | None = None
    """The ApplicationSet that it is of; None: another object."""
