"""Operations of RFC 6902 on plain data."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.shapes import is_list, is_mapping

Operation = Mapping[str, Any]
OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
"""Names of the operations (RFC 6902, section 4)."""


class PatchConflictError(ValueError):
    """An operation does not fit the document."""


def patched(
    document: Any, operations: Iterable[Operation], *, replaces_nothing: bool = False
) -> Any:
    """A copy of plain data with operations carried out.

    `replaces_nothing`: a key that is not there may be replaced, as kustomize lets it be
    (evanphx/json-patch v4, `partialDoc.get`).

    Raises PatchConflictError when a place is missing or not known, or when a test fails.
    """
    result = copy.deepcopy(document)
    for operation in operations:
        _apply(result, operation, replaces_nothing)
    return result


def pointer_keys(pointer: str) -> list[str]:
    """The keys of an RFC 6901 pointer, as text."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _apply(document: Any, operation: Operation, replaces_nothing: bool) -> None:
    name, path = operation.get("op"), str(operation.get("path"))
    if name in ("move", "copy"):
        origin = str(operation.get("from"))
        value = copy.deepcopy(_at(document, origin))
        if name == "move":
            _change(document, "remove", origin, None)
        _change(document, "add", path, value)
    elif name == "test":
        if _at(document, path) != operation.get("value"):
            raise PatchConflictError(f"{path} is not the value that the patch tests")
    elif name in OPERATIONS:
        if name != "remove" and "value" not in operation:
            raise PatchConflictError(f"{path}: the operation has no value")
        missing = replaces_nothing and name == "replace"
        missing = missing and not is_list(_at(document, path.rpartition("/")[0]))
        _change(document, "add" if missing else str(name), path, operation.get("value"))
    else:
        raise PatchConflictError(f"there is no operation {name!r}")


def _change(document: Any, name: str, path: str, value: Any) -> None:
    steps = pointer_keys(path)
    if not steps:
        raise PatchConflictError("the whole object cannot be replaced")
    here = document
    for step in steps[:-1]:
        here = _inside(here, step, path)
    last = steps[-1]
    if is_mapping(here):
        if name != "add" and last not in here:
            raise PatchConflictError(f"{path} is not there")
        if name == "remove":
            del here[last]
        else:
            here[last] = copy.deepcopy(value)
    elif is_list(here):
        if name == "add" and last in ("-", str(len(here))):
            here.append(copy.deepcopy(value))
            return
        index = _index(here, last, path)
        if name == "remove":
            del here[index]
        elif name == "add":
            here.insert(index, copy.deepcopy(value))
        else:
            here[index] = copy.deepcopy(value)
    else:
        raise PatchConflictError(f"{path} is not inside a mapping or list")


def _at(document: Any, path: str) -> Any:
    here = document
    for step in pointer_keys(path):
        here = _inside(here, step, path)
    return here


def _inside(here: Any, step: str, path: str) -> Any:
    if is_mapping(here) and step in here and here[step] is not UNKNOWN:
        return here[step]
    if is_list(here):
        return here[_index(here, step, path)]
    raise PatchConflictError(f"{path}: there is no {step!r}")


def _index(here: list[Any], step: str, path: str) -> int:
    if not step.isdecimal() or int(step) >= len(here):
        raise PatchConflictError(f"{path}: there is no item {step}")
    return int(step)
