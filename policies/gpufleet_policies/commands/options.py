"""Options of commands: rows of `options.jsonl`.

A row has the commands that take the option, its names (as on the command line, then the parameter),
and arguments of `click.option`; `choices`, or a `range` of whole numbers whose end may be open,
instead of a type.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LINES = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
_ROWS: tuple[dict[str, Any], ...] = tuple(map(json.loads, _LINES))


def options(command: str, **types: Any) -> Callable[[_Function], _Function]:
    """Add the options of a command in the order of their rows. `types` has those that a program
    computes, by parameter."""

    def added(function: _Function) -> _Function:
        for row in (row for row in reversed(_ROWS) if command in row["commands"]):
            given = {key: value for key, value in row.items() if key not in _OWN}
            *_, parameter = names = row["names"].split()
            if (made := types.get(parameter) or _type(row)) is not None:
                given["type"] = made
            function = click.option(*names, **given)(function)
        return function

    return added


_OWN = ("commands", "names", "choices", "range")


def _type(row: dict[str, Any]) -> Any:
    if "range" in row:
        return click.IntRange(*row["range"])
    return click.Choice(row["choices"]) if "choices" in row else None
