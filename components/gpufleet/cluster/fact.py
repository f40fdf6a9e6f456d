"""Fact: a field that has a value, is absent, or is not known yet, with its provenance."""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Generic, TypeVar

from gpufleet.findings.finding import Provenance

T = TypeVar("T")


class UnknownMark(Enum):
    """Marks a value that exists but cannot be read yet, as during a preview."""

    UNKNOWN = None
    """Conditions of rows read it as absent."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = UnknownMark.UNKNOWN
"""Replaces a value in plain data while the value is not known."""


class FieldState(Enum):
    """The three states of a field."""

    VALUE = "value"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """One field. Create it with `known`, `absent` or `unknown`."""

    state: FieldState
    found: T | None = None
    provenance: Provenance = Provenance.EXPLICIT
    place: str = ""
    """Field path as the author wrote it."""

    @property
    def is_known(self) -> bool:
        """Whether there is a value."""
        return self.state is FieldState.VALUE

    @property
    def is_absent(self) -> bool:
        """Whether the field certainly does not exist. Not the opposite of `is_known`."""
        return self.state is FieldState.ABSENT

    @property
    def is_unknown(self) -> bool:
        """Whether the field may have a value that cannot be read yet."""
        return self.state is FieldState.UNKNOWN

    @property
    def value(self) -> T:
        """The value. Raises LookupError unless `is_known`."""
        if self.state is not FieldState.VALUE:
            raise LookupError(f"{self.place or 'the field'} is {self.state.value}")
        return self.found  # type: ignore[return-value]  # T may itself be None only by choice

    def or_default(self, default: T) -> "Fact[T]":
        """The same fact; a documented default if the field is absent."""
        return known(default, self.provenance, self.place) if self.is_absent else self


def known(value: T, provenance: Provenance = Provenance.EXPLICIT, place: str = "") -> Fact[T]:
    """A field with a value."""
    return Fact(FieldState.VALUE, value, provenance, place)


@lru_cache(maxsize=10_000)
def absent(place: str = "", provenance: Provenance = Provenance.EXPLICIT) -> Fact[Any]:
    """A field that does not exist. Most fields are absent: equal facts share one object."""
    return Fact(FieldState.ABSENT, None, provenance, place)


NOTHING: Fact[Any] = absent()
"""Neither written, declared nor inferred: the default of facts."""


def unknown(place: str = "", provenance: Provenance = Provenance.EXPLICIT) -> Fact[Any]:
    """A field whose value is not known yet."""
    return Fact(FieldState.UNKNOWN, None, provenance, place)
