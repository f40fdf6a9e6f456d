"""Surroundings: all objects that are declared together with the checked object."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts of a program, a dump or one cluster, including the checked object."""

    facts: tuple[Any, ...]
    _by_type: dict[type, tuple[Any, ...]] = field(
        default_factory=dict[type, tuple[Any, ...]], compare=False, repr=False
    )

    def of(self, kind: type[T]) -> tuple[T, ...]:
        """Facts of one type in the order of declaration: certainly of the same cluster."""
        if kind not in self._by_type:
            self._by_type[kind] = tuple(f for f in self.facts if type(f) is kind)
        return self._by_type[kind]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.facts)
