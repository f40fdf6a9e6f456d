"""Values of charts: keys and types of the chart's own file, and of the definitions of sections that
its templates copy.

Templates write scalars as text into YAML, so a quoted boolean or an unquoted version is read again
from that text; lists and mappings are copied unchanged. Empty values are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.schemas import KUBERNETES, schema_file, schema_kinds
from gpufleet.cluster.program import Reader
from gpufleet.contract.schemas.json_schema import JsonSchema, closed, parts
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.validator import part_problems
from gpufleet.documents.paths import at_steps, value_at
from gpufleet.documents.shapes import as_mapping

_SWITCHES = ("true", "false", "yes", "no", "on", "off")
_TRUE = ("true", "yes", "on", "1")


def is_switch(value: object) -> bool:
    """Whether a value is text that YAML reads as a boolean after a template has written it."""
    return isinstance(value, str) and value.lower() in _SWITCHES


def values_problems(
    reader: Reader, values: Mapping[str, Any], *, older: bool = False
) -> tuple[SchemaProblem, ...]:
    """Values that a chart does not read, or copies into an object that is then refused.

    Args:
        reader: The release that reads them. An unknown release reads the keys of every release.
        values: The values.
        older: No release is named, and the values are those of an older one.

    Raises FileNotFoundError for a chart without data.
    """
    chart, at = reader.program, reader.numbers
    data = schema_file(f"chart-{chart}")
    former = cast("dict[str, str]", data["former"])
    read = {
        path
        for path, last in former.items()
        if older or at is None or (not reader.is_default and at <= numbers(last))
    } | reader.features.newer_values(numbers(data["source"]["release"])).keys()
    problems = tuple(
        replace(problem, asks_for_nothing=_asks_for_nothing(at_steps(values, problem.steps)))
        if problem.kind is SchemaProblemKind.UNKNOWN
        else problem
        for problem in part_problems(f"chart-{chart}", values_schema(chart), values)
        if problem.path not in read
        and (
            problem.kind is SchemaProblemKind.UNKNOWN
            or not _left_out(problem, values, data["typed"])
        )
    )
    return (*problems, *_newer(reader, values))


def _newer(reader: Reader, values: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """Values that the release does not have yet."""
    if reader.numbers is None or reader.is_default:
        return  # newer releases have them, and the release is not known
    for path, since in reader.features.newer_values(reader.numbers).items():
        steps = tuple(path.split("."))
        found = value_at(values, path)
        if found is not None:
            yield SchemaProblem(
                SchemaProblemKind.NEWER,
                f"{path} came with {reader.program} {since}; {reader} does not know it and ignores "
                "it",
                f"use {since} or newer, or remove it",
                steps,
                limit=since,
                asks_for_nothing=_asks_for_nothing(found),
            )


def says_true(chart: str, problem: SchemaProblem, values: Mapping[str, Any]) -> bool:
    """Whether a problem is text that means true where a template tests whether a boolean is set: it
    works, and so would `"false"`."""
    data = schema_file(f"chart-{chart}")
    here: Any = data["values"]
    for step in problem.steps:
        here = (as_mapping(here.get("properties")) or {}).get(str(step)) or {}
    return (
        here == {"type": "boolean"}
        and problem.path not in data["asked"]
        and str(at_steps(values, problem.steps)).lower() in _TRUE
    )


def own_values(chart: str) -> tuple[str, ...]:
    """Top-level values that the chart itself reads, without those that it copies."""
    return tuple(schema_file(f"chart-{chart}")["values"]["properties"])


def values_release(chart: str) -> str:
    """Release of the chart that `values_problems` knows."""
    return schema_file(f"chart-{chart}")["source"]["release"]


@cache
def values_schema(chart: str) -> JsonSchema:
    """The schema of a chart's values."""
    data = schema_file(f"chart-{chart}")
    shared = dict(parts(KUBERNETES))
    handed_on: dict[str, JsonSchema] = {}
    for path, version, kind, field in data["handedOn"]:
        name = schema_kinds()[version][kind]
        shared |= parts(name)
        whole = schema_file(name)["kinds"][kind]["versions"][version.rpartition("/")[2]]["schema"]
        handed_on[path] = _field(whole, field, schema_file(name)["$defs"])
    schema = _merged(data["values"], "", handed_on, None)
    for name in data["unread"]:
        del schema["properties"][name]
    return {**schema, "$defs": shared}


def _merged(
    chart: Mapping[str, Any] | None,
    path: str,
    handed_on: Mapping[str, JsonSchema],
    definition: JsonSchema | None,
) -> JsonSchema:
    definition = handed_on.get(path, definition)
    known = cast("dict[str, Any]", (definition or {}).get("properties", {}))
    own = cast("dict[str, Any]", (chart or {}).get("properties", {}))
    if own:
        names = [*own, *(name for name in known if name not in own and path not in _CHART_ONLY)]
        fields = {
            name: _merged(own.get(name), f"{path}.{name}".lstrip("."), handed_on, known.get(name))
            for name in names
        }
        return {"type": "object", "properties": fields, "additionalProperties": False}
    if definition is not None:
        return _scalar(definition) or closed(definition, custom=True)
    return _scalar(chart or {}) or closed(chart or {}, custom=True)


_CHART_ONLY = ("driver.nvidiaDriverCRD", "draDriver")
"""Sections of which templates copy only the keys in the chart's own file."""


def _scalar(schema: Mapping[str, Any]) -> JsonSchema | None:
    """A scalar as templates write it; None for others."""
    if schema.get("type") != "string" or "enum" in schema:
        return None
    return {**closed(schema, custom=True), "type": ["string", "number", "boolean"]}


def _field(schema: Mapping[str, Any], path: str, defs: Mapping[str, Any]) -> JsonSchema:
    """The schema of a field, with the sections below it in place of references."""
    for name in path.split("."):
        schema = _resolved(schema["properties"][name], defs)
    return _unfolded(schema, defs)


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    return defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _unfolded(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> JsonSchema:
    whole = dict(_resolved(schema, defs))
    if "properties" in whole:
        fields = cast("dict[str, JsonSchema]", whole["properties"])
        whole["properties"] = {name: _unfolded(field, defs) for name, field in fields.items()}
    return whole


def _left_out(problem: SchemaProblem, values: Mapping[str, Any], typed: bool) -> bool:
    """Whether templates leave the value out, or write a quoted boolean as a boolean, which
    templates that test for types do not."""
    here: Any = values
    for step in problem.steps:
        if isinstance(step, str) and step not in (as_mapping(here) or {}):
            return False  # a required field that is missing
        here = here[step]
    return not here or (not typed and is_switch(here) and problem.limit == ["boolean"])


def _asks_for_nothing(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_asks_for_nothing(one) for one in cast("Mapping[str, Any]", value).values())
    return not value
