"""Validation expressions (CEL) of custom resources, evaluated as an API server does it on creation.

It applies the schema's defaults first, and takes an error of an expression for a refusal.
Expressions about the former state of an object (`oldSelf`) say nothing about a new one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.schemas import KUBERNETES, schema_file, schema_kinds
from gpufleet.contract.foreign.dra_cel_functions import functions
from gpufleet.documents.shapes import as_list, as_mapping

_RULES = "x-kubernetes-validations"
_OF_CHANGES = re.compile(r"\boldSelf\b")
Schema = Mapping[str, Any]
Steps = tuple[str | int, ...]


def broken_rules(api_version: str, kind: str, document: Any) -> Iterator[tuple[Steps, str]]:
    """Where an object breaks an expression of its definition, and the expression. The object fits
    its schema and has no nulls. Raises KeyError where there is no schema."""
    name = schema_kinds()[api_version][kind]
    if name == KUBERNETES:
        return
    version = api_version.rpartition("/")[2]
    schema = schema_file(name)["kinds"][kind]["versions"][version]["schema"]
    defs = cast("Mapping[str, Schema]", schema_file(name)["$defs"])
    if _all_rules(name, version, kind):
        yield from _broken(schema, defs, _defaulted(schema, defs, document), ())


def rules_of_changes(api_version: str, kind: str) -> int:
    """Number of expressions about the former state of an object, which are not evaluated. Raises
    KeyError where there is no schema."""
    name = schema_kinds()[api_version][kind]
    if name == KUBERNETES:
        return 0
    rules = _all_rules(name, api_version.rpartition("/")[2], kind)
    return sum(1 for one in rules if _OF_CHANGES.search(one))


@cache
def _all_rules(name: str, version: str, kind: str) -> tuple[str, ...]:
    """Every expression of a kind; of kinds without one, nothing needs to be copied."""
    defs = schema_file(name)["$defs"]

    def below(schema: Schema) -> Iterator[str]:
        schema = _resolved(schema, defs)
        yield from (one["rule"] for one in schema.get(_RULES, ()))
        for child in _children(schema):
            yield from below(child)

    return tuple(below(schema_file(name)["kinds"][kind]["versions"][version]["schema"]))


def _children(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]


def _resolved(schema: Schema, defs: Mapping[str, Schema]) -> Schema:
    return defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _defaulted(schema: Schema, defs: Mapping[str, Schema], value: Any) -> Any:
    schema = _resolved(schema, defs)
    mapping, items = as_mapping(value), as_list(value)
    if items is not None and "items" in schema:
        return [_defaulted(schema["items"], defs, one) for one in items]
    if mapping is None:
        return value
    fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
    given = {
        name: _resolved(field, defs)["default"]
        for name, field in fields.items()
        if name not in mapping and "default" in _resolved(field, defs)
    }
    others = schema.get("additionalProperties")
    return {
        name: _defaulted(fields[name], defs, one)
        if name in fields
        else _defaulted(cast("Schema", others), defs, one)
        if isinstance(others, dict)
        else one
        for name, one in {**mapping, **given}.items()
    }


def _broken(
    schema: Schema, defs: Mapping[str, Schema], value: Any, steps: Steps
) -> Iterator[tuple[Steps, str]]:
    schema = _resolved(schema, defs)
    rules = [one["rule"] for one in schema.get(_RULES, ()) if not _OF_CHANGES.search(one["rule"])]
    yield from ((steps, rule) for rule in _not_held(rules, value))
    mapping = as_mapping(value)
    fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
    others = schema.get("additionalProperties")
    for name, one in (mapping or {}).items():
        child = fields.get(name, others)
        if isinstance(child, dict):
            yield from _broken(cast("Schema", child), defs, one, (*steps, name))
    for index, one in enumerate((as_list(value) or []) if "items" in schema else []):
        yield from _broken(schema["items"], defs, one, (*steps, index))


def _not_held(rules: Sequence[str], value: Any) -> Iterator[str]:
    if not rules:
        return
    import cel  # imported where there is something to evaluate

    context = cel.Context({"self": value}, _functions())
    for rule in rules:
        try:
            holds = _compiled(rule).execute(context)
        except (KeyError, RuntimeError, TypeError, ValueError):
            holds = False  # "rule evaluation error" of the server
        if holds is not True:
            yield rule


@cache
def _functions() -> dict[str, Callable[..., Any]]:
    """What expressions of the catalogue call besides CEL's own functions."""
    return {name: functions()[name] for name in ("find", "split")}


@cache
def _compiled(rule: str) -> Any:
    import cel

    return cel.compile(rule)
