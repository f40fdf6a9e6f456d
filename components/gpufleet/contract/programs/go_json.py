"""How Go's JSON decoder converts data to types: numbers, nulls, keys in any case.

Source: Go `encoding/json` (decode.go), sigs.k8s.io/yaml v1.6.0 `convertToJSONableObject`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from gpufleet.documents.go_scalars import as_text

_INT64 = range(-(1 << 63), 1 << 63)


def kind_of(value: Any) -> str:
    """The common name of a JSON type: text, a number, a list, ..."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "a mapping"


def shown(value: Any) -> str:
    """A value in a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def integer(value: Any) -> int | None:
    """The value as a Go int, None if the decoder refuses it.

    Text and booleans are refused; 3.0 is 3, because it is written out as `3` before it is decoded.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value in _INT64 else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value) if int(value) in _INT64 else None
    return None


def text(value: Any) -> str | None:
    """The value as a Go string field of a plain struct: numbers and booleans become text.

    None if the decoder refuses it (lists, mappings); the caller handles null.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return as_text(value)
    return None


def fold(data: Mapping[str, Any], fields: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Values by field name, keys matched exactly or else in any case; and unknown keys.

    A field that is written in several cases takes the last key in alphabetical order, into which
    the decoder merges mappings.
    """
    by_fold = {fold_key(field): field for field in fields}
    found: dict[str, Any] = {}
    unknown: list[str] = []
    for key in sorted(data):
        field = by_fold.get(fold_key(key))
        if field is None:
            unknown.append(key)
            continue
        value, before = data[key], found.get(field)
        if isinstance(value, dict) and isinstance(before, dict):
            value = cast("dict[str, Any]", before) | cast("dict[str, Any]", value)
        elif value is None and field in found:
            continue
        found[field] = value
    return found, unknown


def fold_key(key: str) -> str:
    """The key as the decoder compares it: simple Unicode folding."""
    return key.replace("\u017f", "s").replace("\u212a", "k").lower()


def json_problem(text: str) -> str | None:
    """Why Go's JSON parser refuses the text of an object; None if it accepts it."""
    try:
        data: Any = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        return str(problem)
    if not isinstance(data, dict) and data is not None:
        return "a JSON object is needed"
    return None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not valid JSON number")
