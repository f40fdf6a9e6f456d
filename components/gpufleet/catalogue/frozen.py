"""A mapping that cannot change: rows of the catalogue are shared by everybody who loads it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("rows of the catalogue are read-only: build a dict() of it and change that")


class FrozenDict(dict[K, V]):
    """A dict without mutation. Unlike a mapping proxy it pickles, copies and prints as JSON."""

    if not TYPE_CHECKING:  # type checkers see a Mapping, which has none of these
        __setitem__ = __delitem__ = __ior__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))


def frozen(mapping: Mapping[K, V]) -> FrozenDict[K, V]:
    """A read-only copy of a mapping."""
    return FrozenDict(mapping)
