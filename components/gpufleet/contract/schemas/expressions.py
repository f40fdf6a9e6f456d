"""Validation expressions (CEL) of custom resources, evaluated like an API server does on creation.

It first applies the schema's defaults, and counts an error of an expression as a refusal.
Expressions about the previous state of an object (`oldSelf`) do not apply to a new one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.schemas import KUBERNETES, schema_file, schema_kinds
from gpufleet.contract.programs.dra_cel_functions import cel, compiled, functions
from gpufleet.contract.schemas.problems import (
    SchemaProblem,
    SchemaProblemKind,
    field_name,
    visible,
)
from gpufleet.documents.quantities import LARGEST, exceeds_largest, quantity
from gpufleet.documents.shapes import as_list, as_mapping

_RULES = "x-kubernetes-validations"
_OF_CHANGES = re.compile(r"\boldSelf\b")
Schema = Mapping[str, Any]
Steps = tuple[str | int, ...]


def broken_rules(api_version: str, kind: str, document: Any) -> Iterator[tuple[Steps, str]]:
    """Where an object violates an expression of its definition, and the expression. The object is
    valid by its schema and has no nulls. Raises KeyError if there is no schema."""
    schema = _rules_of(api_version, kind)
    if schema:
        yield from _broken(schema, _defaulted(schema, document), ())


@cache
def _rules_of(api_version: str, kind: str) -> Schema:
    """Expressions and defaults of a definition; empty if it has no expression."""
    name = schema_kinds()[api_version][kind]
    if name == KUBERNETES:
        return {}
    version = api_version.rpartition("/")[2]
    whole = schema_file(name)["kinds"][kind]["versions"][version]["schema"]
    schema = _reduced(whole, name)
    return schema if any(_RULES in one for one in _each(schema)) else {}


def _reduced(schema: Schema, file: str) -> Schema:
    """The parts of a schema for expressions: their texts, defaults, and the levels below."""
    if "$ref" in schema:
        return _part(file, schema["$ref"].rpartition("/")[2])
    rules = [one["rule"] for one in schema.get(_RULES, ())]
    fields = {name: _reduced(one, file) for name, one in schema.get("properties", {}).items()}
    kept: dict[str, Any] = {
        _RULES: [one for one in rules if not _OF_CHANGES.search(one)],
        "properties": {name: one for name, one in fields.items() if one},
    }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = _reduced(schema[key], file)
    default = {"default": schema["default"]} if "default" in schema else {}
    return default | {key: one for key, one in kept.items() if one}


@cache
def _part(file: str, name: str) -> Schema:
    return _reduced(schema_file(file)["$defs"][name], file)


def _each(schema: Schema) -> Iterator[Schema]:
    yield schema
    below = [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for one in (*below, *schema.get("properties", {}).values()):
        yield from _each(one)


def _defaulted(schema: Schema, value: Any) -> Any:
    mapping, items = as_mapping(value), as_list(value)
    if items is not None and "items" in schema:
        return [_defaulted(schema["items"], one) for one in items]
    if mapping is None or not schema:
        return value
    fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
    others = cast("Schema", schema.get("additionalProperties", {}))
    given = {
        name: field["default"]
        for name, field in fields.items()
        if name not in mapping and "default" in field
    }
    return {
        name: _defaulted(fields.get(name, others), one)
        for name, one in {**mapping, **given}.items()
    }


def _broken(schema: Schema, value: Any, steps: Steps) -> Iterator[tuple[Steps, str]]:
    if _RULES in schema:
        yield from ((steps, rule) for rule in _not_held(schema[_RULES], value))
    fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
    others = cast("Schema", schema.get("additionalProperties", {}))
    for name, one in (as_mapping(value) or {}).items():
        child = fields.get(name, others)
        if child:
            yield from _broken(child, one, (*steps, name))
    for index, one in enumerate((as_list(value) or []) if "items" in schema else []):
        yield from _broken(schema["items"], one, (*steps, index))


def _not_held(rules: Sequence[str], value: Any) -> Iterator[str]:
    context = cel().Context({"self": value}, functions(" ".join(rules)))
    for rule in rules:
        try:
            holds = compiled(rule).execute(context)
        except (KeyError, RuntimeError, TypeError, ValueError):
            holds = False  # "rule evaluation error" of the server
        if holds is not True:
            yield rule


# Numbers that no definition refuses, although the API server refuses them or reads them wrongly.
#
# Sources: kubernetes `pkg/apis/core/validation/validation.go`, `ValidateNonnegativeQuantity` of the
# requests and limits of containers; k8s.io/apimachinery v0.36.3 `pkg/api/resource/quantity.go`: no
# quantity may be above 2^63-1. Its `Value` of 1e19 is 0, so that a scheduler sees no GPU at all.

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_LIMITS_OF_RANGES = ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")
_MOST_SHOWN, _MOST_BITS = 24, 128


def refused_numbers(document: Any) -> Iterator[SchemaProblem]:
    """Amounts of a document that are too large, and negative amounts of containers."""
    kind = SchemaProblemKind.BOUND
    for steps, value in _amounts(document, ()):
        if _is_too_large(value):
            shown = _shortened(value)
            message = f"{field_name(steps)} is {shown}, above the largest quantity: {LARGEST}"
            fix = f"write at most {LARGEST}"
            yield SchemaProblem(kind, message, fix, steps, shown, LARGEST)
        elif steps[-3] == "resources" and _is_negative(value):
            shown = visible(document, steps, value) or "a number"
            message = f"{field_name(steps)} is {shown}, below the limit: at least 0"
            yield SchemaProblem(kind, message, "write 0 or more", steps, shown, 0)


def _amounts(value: dict[str, Any] | list[Any], steps: Steps) -> Iterator[tuple[Steps, object]]:
    """The amounts below `value`, which is at `steps` of the document."""
    holds_amounts = _holds_amounts(steps)
    for step, item in value.items() if isinstance(value, dict) else enumerate(value):
        if type(item) in (dict, list):
            yield from _amounts(item, (*steps, step))
        elif holds_amounts:
            yield (*steps, step), item


def _holds_amounts(steps: Steps) -> bool:
    """Whether it is a place of amounts: of a container, a ResourceQuota, a LimitRange or a
    NodePool. Quotas of Kueue are excluded: Google's own queues have `1000000000Ti`."""
    match steps:
        case ("spec", "hard" | "limits"):
            return True
        case ("spec", "limits", int(), part):
            return part in _LIMITS_OF_RANGES
        case (*_, containers, _, "resources", "limits" | "requests"):
            return containers in _CONTAINERS
        case _:
            return False


def _is_too_large(value: object) -> bool:
    if isinstance(value, str):
        return exceeds_largest(value)
    return isinstance(value, int | float) and abs(value) > LARGEST


def _shortened(value: object) -> str:
    """A number for a message; Python does not format numbers of many thousand digits."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of more than {int(value.bit_length() * 0.30103)} digits"
    text = str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} characters)"


def _is_negative(value: object) -> bool:
    text = str(value)
    found = quantity(text) if text.startswith("-") else None
    return found is not None and found < 0
