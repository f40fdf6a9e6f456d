"""A release of a chart as its wrapper writes it, and its values put together as Helm does."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.cluster.release_values import (
    HeldElsewhere,
    ReleaseValues,
    Step,
    ValuesSource,
    WrappedRelease,
)
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet_policies.wrappers.charts import chart_of_keys

Parse = Callable[[str], Any]
"""Text of YAML as data. Raises UnreadableDocumentError."""


def parse_yaml(text: str) -> Any:
    """The data of a text, as Helm reads it. Raises UnreadableDocumentError."""
    return read_go(text).data


def values_of(sources: Iterable[ValuesSource], parse: Parse = parse_yaml) -> ReleaseValues:
    """Put the values of a release together; what is held elsewhere is missing."""
    values: dict[str, Any] = {}
    missing: list[str] = []
    parts: list[tuple[str, tuple[Step, ...], Any]] = []
    for source in sources:
        if source.held is not None:
            if not source.held.optional:
                missing.append(f"{source.place} ({source.held})")
            continue
        data: Any = source.written
        if isinstance(data, str) and not source.target:
            try:
                data = parse(data)
            except UnreadableDocumentError as problem:
                missing.append(f"{source.place}: {problem}")
                continue
        if source.target:
            values = as_mapping(with_value(values, source.target, data)) or {}
        elif (mapping := as_mapping(data)) is not None:
            values = merged(values, mapping)
        elif data is not None:
            missing.append(f"{source.place}: not a readable mapping")
            continue
        parts.append((source.place, source.target, data))
    return ReleaseValues(values, tuple(missing), tuple(parts))


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """One mapping over another, as Helm merges values: mappings by key, anything else whole."""
    found = dict(under)
    for key, value in over.items():
        above, below = as_mapping(value), as_mapping(found.get(key))
        found[key] = value if above is None or below is None else merged(below, above)
    return found


def with_value(under: Any, steps: tuple[Step, ...], value: Any) -> Any:
    """A copy of data with one value set, lists filled up as `helm --set` does."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        items = list(as_list(under) or [])
        items += [None] * (step + 1 - len(items))
        items[step] = with_value(items[step], rest, value)
        return items
    found = dict(as_mapping(under) or {})
    found[step] = with_value(found.get(step), rest, value)
    return found


_MOST_INDEX = 1000
_SET_STEP = re.compile(r"((?:\\.|[^.\[\\])+)|\[(\d+)\]|(\.)")


def set_steps(name: str) -> tuple[Step, ...] | None:
    """The steps of `a.b\\.c[0]`, a name of `helm --set`; None for an invalid name."""
    steps: list[Step] = []
    end = 0
    for found in _SET_STEP.finditer(name):
        if found.start() != end:
            return None
        end = found.end()
        if found[1] is not None:
            steps.append(re.sub(r"\\(.)", r"\1", found[1]))
        elif found[2] is not None:
            if len(found[2]) > len(str(_MOST_INDEX)) or int(found[2]) > _MOST_INDEX:
                return None
            steps.append(int(found[2]))
    return tuple(steps) if end == len(name) and steps else None


def set_value(text: str) -> Any:
    """The value of a text under `helm --set`: booleans, null and whole numbers are recognised.

    Source: helm.sh/helm/v3 pkg/strvals/parser.go `typedVal`.
    """
    fixed = {"true": True, "false": False, "null": None}
    if text in fixed:
        return fixed[text]
    if re.fullmatch(r"[-+]?(?:0|[1-9]\d{0,17})", text) and text[:1] != "+":
        return int(text)
    return text


def single_values(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[ValuesSource]:
    """The value of each `{name, value}`, as `helm --set` reads it; `forceString` keeps a text."""
    for place, entry in entries:
        steps, value = set_steps(str(entry.get("name"))), entry.get("value")
        if isinstance(value, str) and entry.get("forceString") is not True:
            value = set_value(value)
        if steps is not None and entry.get("value") is not None:
            yield ValuesSource(f"{place}.value", value, steps)


def found_elsewhere(
    release: WrappedRelease,
    values: Callable[[HeldElsewhere], Any],
    chart: Callable[[HeldElsewhere], tuple[str | None, str | None] | None],
) -> WrappedRelease:
    """A release with the contents of other objects and files, as far as they were found.

    `values` returns None for a missing reference; `chart` a name and a version.
    """
    sources: list[ValuesSource] = []
    for source in release.sources:
        written = None if source.held is None else values(source.held)
        if source.held is None or written is None:
            sources.append(source)
            continue
        if source.target:
            text = str(written)
            quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
            written = text[1:-1] if quoted else set_value(text)
        place = f"{source.place} ({source.held})"
        sources.append(replace(source, place=place, written=written, held=None))
    if release.held is None or release.chart:
        return replace(release, sources=tuple(sources))
    found = chart(release.held) or (_chart_of_keys(sources), None)
    return replace(
        release, sources=tuple(sources), chart=found[0], version=release.version or found[1]
    )


def _chart_of_keys(sources: Iterable[ValuesSource]) -> str | None:
    """The chart whose keys alone the values have, where what names it is not here."""
    for source in sources:
        values = None if source.target else as_mapping(source.written)
        found = None if values is None else chart_of_keys(values)
        if found is not None:
            return found.name
    return None
