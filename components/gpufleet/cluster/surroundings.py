"""Surroundings: all objects that are declared together with the checked object."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts of a program, a dump or one cluster, including the checked object."""

    facts: tuple[Any, ...]
    whole: "Surroundings | None" = field(default=None, compare=False, repr=False)
    """All facts of the run, if more of them may belong to the same cluster; None: no more."""
    _by_type: dict[type, tuple[Any, ...]] = field(
        default_factory=dict[type, tuple[Any, ...]], compare=False, repr=False
    )

    def of(self, kind: type[T]) -> tuple[T, ...]:
        """Facts of one type in the order of declaration: certainly of the same cluster."""
        if kind not in self._by_type:
            self._by_type[kind] = tuple(f for f in self.facts if type(f) is kind)
        return self._by_type[kind]

    def anywhere(self, kind: type[T]) -> tuple[T, ...]:
        """Facts of one type that are, or may be, of the same cluster: an object that is not among
        them is certainly missing."""
        return self.of(kind) if self.whole is None else self.whole.of(kind)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.facts)
