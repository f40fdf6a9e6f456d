"""Outputs of data that is known already.

`pulumi.Output.from_input` looks for outputs inside a value and makes an output, with a task of its
own, for each key and each entry it finds; the tasks of a fleet of 1,000 pools are ten thousands.
What is plain data through and through needs one.
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
