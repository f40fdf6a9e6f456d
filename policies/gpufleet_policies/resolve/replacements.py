"""`replacements` of a kustomization: a value of one object written into others.

Source: kubernetes-sigs/kustomize api/filters/replacement/replacement.go at kustomize v5.5.0.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from gpufleet.documents.paths import entries_at, text_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet_policies.resolve.made import Made, selector

_STEP = re.compile(r"\[([^\]=]+)=([^\]]*)\]|((?:[^.\\]|\\.)+)")


def replaced(made: Sequence[Made], entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Carry replacements out; gives what of them cannot be."""
    for entry in entries:
        source = mapping(entry.get("source"))
        found = [one for one in made if selector(source).fits(one)]
        if len(found) != 1:
            number = "no object" if not found else f"{len(found)} objects"
            yield f"{number} for the source {text_at(source, 'kind')} {text_at(source, 'name')}"
            continue
        path = text_at(source, "fieldPath") or "metadata.name"
        values = list(_values(found[0].data, _steps(path)))
        if len(values) != 1:
            yield f"no value at {path} of {found[0].kind} {found[0].name}"
            continue
        value = _part(values[0], mapping(source.get("options")))
        for _, target in entries_at(entry, "targets"):
            chosen = selector(target.get("select"))
            rejected = [selector(one) for one in items(target.get("reject"))]
            for one in made:
                if chosen.fits(one) and not any(other.fits(one) for other in rejected):
                    _write(one, target, value)


def _write(one: Made, target: Mapping[str, Any], value: Any) -> None:
    options = mapping(target.get("options"))
    paths = items(target.get("fieldPaths")) or ["metadata.name"]
    one.data = copy.deepcopy(one.data)
    for path in paths:
        if isinstance(path, str):
            _set(one.data, _steps(path), value, options)


def _set(here: Any, steps: Sequence[Any], value: Any, options: Mapping[str, Any]) -> None:
    step, rest = steps[0], steps[1:]
    for container, key in _places(here, step, create=options.get("create") is True and bool(rest)):
        if rest:
            _set(container[key], rest, value, options)
        elif key in container if is_mapping(container) else True:
            container[key] = _placed(container[key], value, options)
        elif options.get("create") is True:
            container[key] = value


def _places(here: Any, step: Any, *, create: bool) -> Iterator[tuple[Any, Any]]:
    if is_list(here):
        key, value = cast("tuple[str, str]", step) if isinstance(step, tuple) else ("", "")
        for index, one in enumerate(here):
            is_meant = bool(key) and is_mapping(one) and str(one.get(key)) == value
            if is_meant or step in ("*", str(index)):
                yield here, index
    elif is_mapping(here) and isinstance(step, str):
        if create and step not in here:
            here[step] = {}
        if step in here or not create:
            yield here, step


def _placed(before: Any, value: Any, options: Mapping[str, Any]) -> Any:
    delimiter = text_at(options, "delimiter")
    if not delimiter or not isinstance(before, str):
        return str(value) if isinstance(before, str) and isinstance(value, int) else value
    parts = before.split(delimiter)
    index = options.get("index", 0)
    if not isinstance(index, int):
        return value
    if index < 0:
        parts.insert(0, str(value))
    elif index >= len(parts):
        parts.append(str(value))
    else:
        parts[index] = str(value)
    return delimiter.join(parts)


def _part(value: Any, options: Mapping[str, Any]) -> Any:
    delimiter, index = text_at(options, "delimiter"), options.get("index", 0)
    if not delimiter or not isinstance(value, str) or not isinstance(index, int):
        return value
    parts = value.split(delimiter)
    return parts[index] if 0 <= index < len(parts) else value


def _values(here: Any, steps: Sequence[Any]) -> Iterator[Any]:
    if not steps:
        yield here
        return
    for container, key in _places(here, steps[0], create=False):
        if is_list(container) or key in container:
            yield from _values(container[key], steps[1:])


def _steps(path: str) -> list[Any]:
    """`spec.containers.[name=a].image` as steps; a dot of a key is written with a backslash."""
    return [
        (found[1], found[2]) if found[1] else found[3].replace("\\", "")
        for found in _STEP.finditer(path)
    ]
