"""Records: frozen dataclasses with slots that cost next to nothing until they are used.

`@dataclass(frozen=True, slots=True)` compiles six methods for each class when its module is
imported, half of the time that a program with a hundred facts takes to start. A record's
constructor is compiled when its first object is made; its other methods are ordinary functions.
Fields, `replace`, `fields`, comparison, hash and text are those of the dataclass.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(kind: type[T]) -> type[T]: ...
@overload
def record(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[Any] | None = None, *, kw_only: bool = False) -> Any:
    """Make a class of annotated fields a frozen dataclass with slots.

    Assigning to a field of an object raises FrozenInstanceError. The class may inherit from other
    records only; a method that it defines itself stays.

    Args:
        kind: The class; left out where options are given.
        kw_only: Whether fields are given by name only.
    """
    if kind is None:
        return lambda decorated: _made(decorated, kw_only)
    return _made(kind, kw_only)


def _made(kind: type[Any], kw_only: bool) -> Any:
    own = set(vars(kind))
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(kind)
    known = fields(made)
    compared = _values(tuple(one.name for one in known if one.compare))
    hashed = _values(
        tuple(one.name for one in known if (one.compare if one.hash is None else one.hash))
    )
    shown = tuple(one.name for one in known if one.repr)

    def construct(self: Any, *args: Any, **named: Any) -> None:
        made.__init__ = _constructor(made, known)
        made.__init__(self, *args, **named)

    def is_equal(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    def hash_of(self: Any) -> int:
        return hash(hashed(self))

    @recursive_repr()
    def text(self: Any) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({parts})"

    methods: dict[str, Callable[..., Any]] = {
        "__init__": construct,
        "__eq__": is_equal,
        "__hash__": hash_of,
        "__repr__": text,
        "__setattr__": _assign,
        "__delattr__": _delete,
        "__getstate__": _state,
        "__setstate__": _restore,
    }
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The values of some fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _constructor(made: type, known: tuple[Field[Any], ...]) -> Callable[..., None]:
    """`__init__` of a record, compiled: it writes the slots themselves."""
    names: dict[str, Any] = {"MISSING": MISSING}
    ordinary: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for one in known:
        names[f"_set_{one.name}"] = _slot(made, one.name).__set__
        value = one.name
        if one.default_factory is not MISSING:
            names[f"_make_{one.name}"] = one.default_factory
            value = f"_make_{one.name}()"
            if one.init:
                value += f" if {one.name} is MISSING else {one.name}"
        elif one.default is not MISSING:
            names[f"_default_{one.name}"] = one.default
            value = one.name if one.init else f"_default_{one.name}"
        elif not one.init:
            continue
        body.append(f"_set_{one.name}(self, {value})")
        if one.init:
            (named if one.kw_only else ordinary).append(_parameter(one))
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *ordinary, *(["*", *named] if named else [])])
    source = f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"])
    exec(source, names)  # noqa: S102  as dataclasses do; names of fields are identifiers
    found: Callable[..., None] = names["__init__"]
    found.__qualname__ = f"{made.__qualname__}.__init__"
    return found


def _parameter(one: Field[Any]) -> str:
    if one.default_factory is not MISSING:
        return f"{one.name}=MISSING"
    return one.name if one.default is MISSING else f"{one.name}=_default_{one.name}"


def _slot(made: type, name: str) -> Any:
    """The descriptor of a field, of the class itself or of one that it inherits from."""
    return next(vars(kind)[name] for kind in made.__mro__ if name in vars(kind))


def _assign(self: object, name: str, value: object, /) -> None:
    raise FrozenInstanceError(
        f"{type(self).__name__}: cannot assign {value!r:.80} to field {name!r}"
    )


def _delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"{type(self).__name__}: cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        _slot(type(self), one.name).__set__(self, value)
