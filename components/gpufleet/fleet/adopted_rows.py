"""Options of a pool from what exists: rows of `adopted.jsonl` of the platform.

* `of`: the name under which the platform asks for the row,
* `field`: the key that it gives, dotted in a section,
* `from`: path of the value, with its `type`; `omit` is what the default gives,
* `values`: what is found -> what a declaration says; other values give nothing,
* `when` and `is`: conditions, and the value if they hold.

Paths and conditions are those of `findings.row_rules`.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.findings.row_rules import holds, value_of
from gpufleet.fleet.observed import Declaration

_TYPES: dict[str, type[Any]] = {"int": int, "text": str, "bool": bool, "list": list, "map": dict}


def adopted_in(file: str) -> Callable[..., Declaration]:
    """The reader of a platform's rows, of whose modules `file` is one: it is called with the rows'
    `of`, a declaration that the options are written into (default: a new one), and what their paths
    begin with, by name."""
    folder = Path(file).parent

    def found(of: str, into: Declaration | None = None, /, **subjects: object) -> Declaration:
        options: Declaration = {} if into is None else into
        for row in _rows(folder, of):
            value = _value(row, subjects) if holds(row.get("when", {}), subjects) else None
            if value is not None and value != row.get("omit"):
                *sections, key = row["field"].split(".")
                section = options
                for name in sections:
                    section = section.setdefault(name, {})
                section[key] = value
        return options

    return found


@cache
def _rows(folder: Path, of: str) -> list[RawRow]:
    return [row for row in read_rows(folder, "adopted") if row["of"] == of]


def _value(row: RawRow, subjects: dict[str, object]) -> Any:
    if "is" in row:
        return row["is"]
    value = value_of(subjects, row["from"])
    if "values" in row:
        return row["values"].get(str(value))
    return value if isinstance(value, _TYPES[row["type"]]) else None
