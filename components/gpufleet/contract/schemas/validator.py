"""The validator: a JSON Schema of each kind, compiled once, and its errors as problems."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.schemas import schema_kinds
from gpufleet.contract.programs.go_json import shown
from gpufleet.contract.schemas.expressions import broken_rules, refused_numbers
from gpufleet.contract.schemas.gpu_refusals import refused_by_code
from gpufleet.contract.schemas.json_schema import MAP_KEYS, JsonSchema, json_schema
from gpufleet.contract.schemas.problems import (
    SchemaProblem,
    SchemaProblemKind,
    choice_fix,
    field_name,
    path_of,
    unknown_fix,
    visible,
    wrong_type,
)
from gpufleet.documents.paths import at_steps, child, mapping_at
from gpufleet.documents.quantities import go_duration
from gpufleet.documents.shapes import as_list, as_mapping, is_list, is_mapping

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

_BOUNDS = {
    "Minimum": ("below", "at least"),
    "Maximum": ("above", "at most"),
    "ExclusiveMinimum": ("not above", "more than"),
    "ExclusiveMaximum": ("not below", "less than"),
}
_SIZES = {
    "MinLength": "at least {} characters",
    "MaxLength": "at most {} characters",
    "MinItems": "at least {} entries",
    "MaxItems": "at most {} entries",
    "MinProperties": "at least {} entries",
    "MaxProperties": "at most {} entries",
}


def has_schema(api_version: object, kind: object) -> bool:
    """Whether the catalogue has the schema of a kind in an API version."""
    return (
        isinstance(api_version, str)
        and isinstance(kind, str)
        and kind in schema_kinds().get(api_version, {})
    )


def schema_problems(document: Any, api_version: str | None = None) -> tuple[SchemaProblem, ...]:
    """Everything that an API server refuses in an object by its schema, in the order of paths.

    The document needs `kind`, and `apiVersion` unless another version to validate for is given.
    Raises KeyError if the catalogue has no schema.
    """
    version, kind = api_version or document["apiVersion"], document["kind"]
    validator, schema = _validator(version, kind), json_schema(version, kind)
    present = _without_nulls(document)
    shape = (
        *_problems_of(validator, schema, present),
        *(_unknown_nulls(validator, schema, document) if document != present else ()),
        *refused_numbers(document),
        *_embedded_problems(kind, document),
    )
    if any(one.kind is not SchemaProblemKind.UNKNOWN for one in shape):
        return shape  # a server does not evaluate expressions either
    broken = broken_rules(version, kind, present)
    said = refused_by_code({**present, "apiVersion": version})
    return (*shape, *(_broken_rule(steps, rule) for steps, rule in broken), *said)


_MACHINES = "machine.openshift.io/v1beta1"
_EMBEDDED = {
    "Machine": ("spec", "providerSpec", "value"),
    "MachineSet": ("spec", "template", "spec", "providerSpec", "value"),
}
"""Kind -> place of another object in it, which a webhook validates and not the server."""


def _embedded_problems(kind: str, document: Any) -> Iterator[SchemaProblem]:
    """Problems of the object that a Machine embeds; its API version has had several groups."""
    path = _EMBEDDED.get(kind, ())
    inner: Any = document
    for step in path:
        inner = (as_mapping(inner) or {}).get(step)
    held = as_mapping(inner)
    if path and held is not None and has_schema(_MACHINES, held.get("kind")):
        for one in schema_problems({**held, "apiVersion": _MACHINES}):
            yield replace(one, steps=(*path, *one.steps))


def _as_written(document: Any, steps: Iterable[str | int]) -> Iterator[str | int]:
    """Steps with the keys of a document: the validator reads a key `0` as an index."""
    for step in steps:
        key = step if is_list(document) else str(step)
        yield key
        document = at_steps(document, (key,))


def _broken_rule(steps: tuple[str | int, ...], rule: str) -> SchemaProblem:
    where = field_name(steps) if steps else "the object"
    message = f"{where} violates a rule of the definition: {rule}"
    return SchemaProblem(SchemaProblemKind.CONDITION, message, None, steps, None, None)


_PARTS: dict[str, "Validator"] = {}


def part_problems(
    name: str, schema: JsonSchema, value: Any, *, nulls: bool = False
) -> tuple[SchemaProblem, ...]:
    """The same for any value and a partial schema; `name` is the schema's name. With `nulls` a null
    is a value like others."""
    if name not in _PARTS:
        _PARTS[name] = _compiled(schema)
    return _problems_of(_PARTS[name], schema, value if nulls else _without_nulls(value))


def _problems_of(
    validator: "Validator", schema: JsonSchema, value: Any
) -> tuple[SchemaProblem, ...]:
    """Problems of a value without nulls, in the order of paths."""
    if validator.is_valid(value):
        return ()
    found = [
        _coded(problem, schema, error.schema_path, value)
        for error in validator.iter_errors(value)
        for problem in _problems(error, schema, value)
    ]
    return tuple(sorted(found, key=lambda one: (one.path, one.kind)))


CODES, SAYS = "x-codes", "x-says"
"""Extensions of the schemas of configurations: keyword (`required NAME`, `any`) -> code of its
finding; keyword -> what is said in place of its usual message, with the value, and the fix."""


def _coded(
    problem: SchemaProblem, schema: JsonSchema, path: Sequence[str | int], document: Any
) -> SchemaProblem:
    """The problem with the code and the text that its place in the schema names."""
    way, keyword, here = path[:-1], str(path[-1]), cast("Any", schema)
    for step in way:
        here = schema["$defs"][here["$ref"].rpartition("/")[2]] if step == "$ref" else here[step]
    codes = mapping_at(here, CODES)
    if not codes:
        return problem
    if keyword == "required":
        keyword = f"required {problem.steps[-1]}"
    # An unknown key has the code of all kinds where its schema names no other.
    usual = "" if keyword == "additionalProperties" else codes.get("any", "")
    problem = replace(problem, code=codes.get(keyword, usual))
    says = mapping_at(here, SAYS).get(keyword)
    if says is None:
        return problem
    message, fix = says
    found = shown(at_steps(document, problem.steps))
    return replace(problem, message=message.format(found=found), fix=fix)


def _unknown_nulls(
    validator: "Validator", schema: JsonSchema, document: Any
) -> Iterator[SchemaProblem]:
    """Null fields that a kind does not have: absent elsewhere, refused here."""
    for error in validator.iter_errors(document):
        if type(error.kind).__name__ in ("AdditionalProperties", "FalseSchema"):
            for problem in _problems(error, schema, document):
                if reduce(getitem, problem.steps, document) is None:
                    yield problem


@cache
def _validator(api_version: str, kind: str) -> "Validator":
    return _compiled(json_schema(api_version, kind))


def _compiled(schema: JsonSchema) -> "Validator":
    import jsonschema_rs  # imported only if there is something to validate

    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        pattern_options=jsonschema_rs.RegexOptions(),  # linear time, as Go's
        keywords={MAP_KEYS: _MapKeys},
        formats={"go-duration": _is_duration},
        offline=True,
    )


def _is_duration(text: str) -> bool:
    return text == "infinite" or go_duration(text) is not None


class _MapKeys:
    """`x-kubernetes-list-map-keys`: no two entries of a list have the same key."""

    def __init__(
        self, parent_schema: dict[str, Any], value: Any, schema_path: list[str | int]
    ) -> None:
        del parent_schema, schema_path
        self.keys = cast("list[str]", value)

    def validate(self, instance: Any) -> None:
        """Raise ValueError for the first entry that occurred before."""
        seen: set[str] = set()
        for item in as_list(instance) or []:
            entry = as_mapping(item)
            if entry is None:
                continue
            key = ", ".join(f"{name} {entry[name]}" for name in self.keys if name in entry)
            if key in seen:
                raise ValueError(key)
            seen.add(key)


_PLAIN: tuple[type, ...] = (str, int, float, dict, list)


def _without_nulls(value: Any) -> Any:
    """The value without nulls in mappings, which an API server reads as absent, and without values
    that are not known before deployment."""
    if is_mapping(value):
        kept = ((str(key), one) for key, one in value.items() if isinstance(one, _PLAIN))
        return {key: _without_nulls(one) if type(one) in (dict, list) else one for key, one in kept}
    return [_without_nulls(one) for one in value] if is_list(value) else value


def _problems(
    error: "ValidationError", schema: JsonSchema, document: Any
) -> Iterator[SchemaProblem]:
    kind = error.kind
    name = type(kind).__name__
    steps = tuple(_as_written(document, error.instance_path))
    value: Any = error.instance
    if name == "AdditionalProperties":
        known = _known(schema, error.schema_path[:-1])
        yield from _unknown(steps, cast("Any", kind).unexpected, known)
    elif name == "FalseSchema":  # fields of an object that has none
        yield from _unknown(steps, as_mapping(reduce(getitem, steps, document)) or {}, ())
    elif name == "Required":
        yield _required(steps, cast("Any", kind).property)
    elif name == "Type":
        types = [one for one in cast("Any", kind).types if one != "null"]
        known = _known(schema, error.schema_path[:-1])
        message, fix, displayed = wrong_type(document, steps, value, types, known)
        yield SchemaProblem(SchemaProblemKind.TYPE, message, fix, steps, displayed, types)
    elif name == "Enum":
        yield _choice(document, steps, value, cast("Any", kind).options)
    elif name == "Constant":
        yield _choice(document, steps, value, [cast("Any", kind).expected_value])
    elif name in _BOUNDS or name in _SIZES:
        yield _bound(document, steps, value, name, cast("Any", kind).limit)
    elif name in ("Pattern", "Format"):
        limit = cast("Any", kind).pattern if name == "Pattern" else cast("Any", kind).format
        displayed = visible(document, steps, value)
        message = f"{field_name(steps)} is {displayed or 'a value'}, {needed(limit)} is needed"
        yield SchemaProblem(SchemaProblemKind.PATTERN, message, None, steps, displayed, limit)
    elif name in ("Custom", "UniqueItems"):
        key = cast("Any", kind).message if name == "Custom" else "one value"
        message = f"{field_name(steps)} has two entries with {key}"
        yield SchemaProblem(SchemaProblemKind.REPEATED, message, "keep one of them", steps)
    else:
        message = f"fields of {field_name(steps)} do not fit each other ({error.kind.name})"
        yield SchemaProblem(SchemaProblemKind.CONDITION, message, None, steps, None, None)


def _unknown(
    steps: tuple[str | int, ...], keys: Iterable[str], known: tuple[str, ...]
) -> Iterator[SchemaProblem]:
    for key in keys:
        message, fix = f"there is no field {key} in {field_name(steps)}", unknown_fix(key, known)
        what, place = SchemaProblemKind.UNKNOWN, (*steps, key)
        yield SchemaProblem(what, message, fix, place, key, None, known)


def _required(steps: tuple[str | int, ...], key: str) -> SchemaProblem:
    path = child(path_of(steps), key)
    kind, fix = SchemaProblemKind.REQUIRED, f"write `{key}`"
    return SchemaProblem(kind, f"{path} is required", fix, (*steps, key))


def _choice(
    document: Any, steps: tuple[str | int, ...], value: Any, allowed: list[Any]
) -> SchemaProblem:
    displayed = visible(document, steps, value)
    options = [one for one in allowed if one != ""]
    listed = ", ".join(repr(one) for one in options)
    message = f"{field_name(steps)} is {displayed or 'another value'}, allowed are {listed}"
    fix = choice_fix(value, options)
    return SchemaProblem(SchemaProblemKind.CHOICE, message, fix, steps, displayed, options)


def _bound(
    document: Any, steps: tuple[str | int, ...], value: Any, name: str, limit: Any
) -> SchemaProblem:
    if name in _BOUNDS:
        where, needed = _BOUNDS[name]
        displayed = visible(document, steps, value)
        message = f"{field_name(steps)} is {displayed or 'a number'}, {where} {limit}"
        fix = f"write {needed} {limit}"
        return SchemaProblem(SchemaProblemKind.BOUND, message, fix, steps, displayed, limit)
    needed = _SIZES[name].format(limit)
    message = f"{field_name(steps)} has {len(value)}, {needed} are allowed"
    return SchemaProblem(SchemaProblemKind.BOUND, message, f"write {needed}", steps, None, limit)


def known_fields(api_version: str, kind: str, *path: str) -> tuple[str, ...]:
    """Names of the fields of a kind below a path. Raises KeyError if there is no schema."""
    schema = json_schema(api_version, kind)
    return _known(schema, [step for name in path for step in ("properties", name)])


def _known(schema: JsonSchema, path: Iterable[str | int]) -> tuple[str, ...]:
    """Names of the fields at a place of the schema."""
    here: Any = schema
    for step in path:
        if "$ref" in here and step != "$ref":
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
        here = schema["$defs"][here["$ref"].rpartition("/")[2]] if step == "$ref" else here[step]
    return tuple(here.get("properties", {}))


# Meaning of patterns in the definitions of GPU objects, in words for their author.

_LONGEST = 48
"""Maximum characters of a pattern in a message."""
_MEANINGS = {row["pattern"]: row["means"] for row in read_rows(Path(__file__).parent, "patterns")}


def needed(pattern: str) -> str:
    """Its meaning; else the pattern, shortened if it is long."""
    shown = pattern if len(pattern) <= _LONGEST else f"{pattern[: _LONGEST - 3]}..."
    return _MEANINGS.get(pattern, f"text that matches {shown}")
