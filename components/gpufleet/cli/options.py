"""Options of commands: rows of `options.jsonl` in the folder of the command's module.

A row has the commands that take the option, its names (as on the command line, then the parameter),
and arguments of `click.option`; instead of a type `choices`, or the ends of a `range` of whole
numbers or of `decimals`, of which one may be open.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OWN = ("commands", "names", "choices", "range", "decimals")


def options(module: str, command: str, **types: Any) -> Callable[[_Function], _Function]:
    """Add the options of a command in the order of their rows.

    Args:
        module: File of the command's module.
        command: Its name in the rows.
        types: Types that a program computes, by parameter.
    """

    def added(function: _Function) -> _Function:
        rows = _rows(Path(module).with_name("options.jsonl"))
        for row in (row for row in reversed(rows) if command in row["commands"]):
            given = {key: value for key, value in row.items() if key not in _OWN}
            *_, parameter = names = row["names"].split()
            if (made := types.get(parameter) or _type(row)) is not None:
                given["type"] = made
            function = click.option(*names, **given)(function)
        return function

    return added


@cache
def _rows(file: Path) -> tuple[dict[str, Any], ...]:
    return tuple(map(json.loads, file.read_text(encoding="utf-8").splitlines()))


def _type(row: dict[str, Any]) -> Any:
    if "range" in row:
        return click.IntRange(*row["range"])
    if "decimals" in row:
        return click.FloatRange(*row["decimals"])
    return click.Choice(row["choices"]) if "choices" in row else None
