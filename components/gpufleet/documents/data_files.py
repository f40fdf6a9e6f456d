"""Objects and settings as data: YAML files whose parts are filled in with parameters.

`[[name]]` in a text is replaced by a parameter or by one of the file's own `texts`. A part with
`if: name` is left out where that parameter is None, empty or false, and a part that is one name
alone where it is None.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpufleet.documents.reading import read_strict
from gpufleet.documents.shapes import as_list, as_mapping

Parameters = Mapping[str, Any]
"""Name -> text or number that replaces `[[name]]` in a file, or condition of its parts."""

_NAME = re.compile(r"\[\[([a-z_]+)\]\]")


def data_part(file: Path, part: str, /, **parameters: Any) -> Any:
    """A part of a file, which is given without its suffix."""
    return _filled(_content(file)[part], parameters)


def data_file(file: Path, parameters: Parameters) -> dict[str, Any] | None:
    """The content of a file; None: its own `if` is not fulfilled."""
    content = _content(file)
    known = dict(parameters)
    for key, text in content.get("texts", {}).items():
        known[key] = _filled(text, known)
    return _filled({key: part for key, part in content.items() if key != "texts"}, known)


@cache
def _content(file: Path) -> Mapping[str, Any]:
    return read_strict(file.with_name(f"{file.name}.yaml").read_bytes()).data


def _filled(value: Any, known: Parameters) -> Any:
    """A copy with every `[[name]]` replaced; a text that is one name alone becomes the value."""
    mapping, items = as_mapping(value), as_list(value)
    if mapping is not None:
        if "if" in mapping and not known[mapping["if"]]:
            return None
        parts = {key: (one, _filled(one, known)) for key, one in mapping.items() if key != "if"}
        return {
            key: filled for key, (one, filled) in parts.items() if filled is not None or one is None
        }
    if items is not None:
        filled = (_filled(one, known) for one in items)
        return [one for one in filled if one is not None]
    if not isinstance(value, str):
        return value
    alone = _NAME.fullmatch(value)
    if alone is not None:
        return known[alone[1]]
    return _NAME.sub(lambda found: str(known[found[1]]), value)
