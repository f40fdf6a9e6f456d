"""Surroundings: all objects that are declared together with the checked object."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts of a program, of a dump or of one cluster, with the checked object."""

    facts: tuple[Any, ...]
    whole: "Surroundings | None" = field(default=None, compare=False, repr=False)
    """Everything of the run, where more of it may belong to the same cluster; None: nothing."""
    _by_type: dict[type, tuple[Any, ...]] = field(
        default_factory=dict[type, tuple[Any, ...]], compare=False, repr=False
    )

    def of(self, kind: type[T]) -> tuple[T, ...]:
        """Those of one type, in the order they were declared: certainly of the same cluster."""
        if kind not in self._by_type:
            self._by_type[kind] = tuple(f for f in self.facts if type(f) is kind)
        return self._by_type[kind]

    def anywhere(self, kind: type[T]) -> tuple[T, ...]:
        """The same, with those that may be of the same cluster: only what is not among them is
        missing."""
        return self.of(kind) if self.whole is None else self.whole.of(kind)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.facts)
