"""Outputs of data that is known already.

`pulumi.Output.from_input` looks for outputs inside a value and makes an output, with a task of its
own, for each key and each entry it finds; the tasks of a fleet of 1,000 pools are ten thousands.
What is plain data through and through needs one, and where there is one for each pool, none until
somebody asks: an output is some fifteen objects that live as long as the program.
"""

import asyncio
from typing import Any, TypeVar

import pulumi

Value = TypeVar("Value")


def known_output(value: Value) -> pulumi.Output[Value]:
    """The output of plain data: no output, resource or awaitable is anywhere inside `value`."""
    return pulumi.Output(set(), _done(value), _done(True), _done(False))


def _done(value: Any) -> asyncio.Future[Any]:
    done: asyncio.Future[Any] = asyncio.Future()
    done.set_result(value)
    return done


class _Later:
    """An attribute that becomes an output at its first use and then stays that output."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        kept: dict[str, Any] = instance.__dict__.get(_KEPT, {})
        if self._name not in kept:
            raise AttributeError(f"{owner.__name__} has no {self._name} yet")
        made = known_output(kept[self._name])
        instance.__dict__[self._name] = made
        return made


_KEPT = "_known_values"


def known_later() -> Any:
    """A class attribute that is `known_output` of what `keep_known` was given for its name."""
    return _Later()


def keep_known(instance: object, **values: Any) -> None:
    """Give the attributes that are `known_later` their plain data."""
    instance.__dict__[_KEPT] = values
