"""Schemas of Kubernetes as JSON Schemas that refuse the same objects as an API server.

An API server with strict field validation refuses fields that a schema does not name, applies
defaults before it asks for required fields, takes null in a mapping for absent, and checks the
range of `int32` and `int64` (seen on Kubernetes 1.36; docs/decisions/2026-11-23-schemas.md).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.schemas import KUBERNETES, METADATA, schema_file, schema_kinds

JsonSchema = dict[str, Any]

MAP_KEYS = "x-kubernetes-list-map-keys"
_INTEGERS = {"int32": 1 << 31, "int64": 1 << 63}
_BASE64 = r"^(?:[A-Za-z0-9+/\s]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*$"
_OPEN = "x-kubernetes-preserve-unknown-fields"
_CONDITIONS = ("allOf", "anyOf", "oneOf", "not")
"""Keywords with conditions on values only: the fields are in the same schema."""
_KEPT = (
    *("type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems"),
    *("maxItems", "minProperties", "maxProperties", "multipleOf", "uniqueItems", *_CONDITIONS),
)


@cache
def json_schema(api_version: str, kind: str) -> JsonSchema:
    """The schema of a kind. Raises KeyError if the catalogue has none."""
    name = schema_kinds()[api_version][kind]
    kinds = schema_file(name)["kinds"]
    metadata = parts(METADATA)
    if name == KUBERNETES:
        root = parts(name)[kinds[api_version][kind]["$ref"].rpartition("/")[2]]
    else:
        version = kinds[kind]["versions"][api_version.rpartition("/")[2]]
        root = closed(version["schema"], custom=True)
    fields = dict(cast("JsonSchema", root.get("properties", {})))
    fields |= {"apiVersion": {"const": api_version}, "kind": {"const": kind}}
    fields["metadata"] = {"$ref": "#/$defs/meta.v1.ObjectMeta"}
    return {**root, "properties": fields, "$defs": {**parts(name), **metadata}}


@cache
def parts(name: str) -> dict[str, JsonSchema]:
    """The shared parts of a file of the catalogue."""
    custom = name not in (KUBERNETES, METADATA)
    parts = cast("dict[str, JsonSchema]", schema_file(name)["$defs"])
    return {key: closed(part, custom=custom) for key, part in parts.items()}


def closed(schema: Mapping[str, Any], *, custom: bool) -> JsonSchema:
    """One schema. `custom`: of a custom resource, which has stricter lists."""
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    result: JsonSchema = {key: schema[key] for key in _KEPT if key in schema}
    if schema.get("x-kubernetes-int-or-string"):
        result["type"] = ["integer", "string"]
    if schema.get("nullable") and "type" in result:
        result["type"] = [result["type"], "null"]
    _bounds(schema, result)
    fields = cast("dict[str, JsonSchema]", schema.get("properties", {}))
    values = schema.get("additionalProperties")
    if fields:
        result["properties"] = {
            name: _field(field, name in schema.get("required", ()), custom=custom)
            for name, field in fields.items()
        }
    if isinstance(values, dict):
        result["additionalProperties"] = closed(cast("JsonSchema", values), custom=custom)
    elif schema.get("type") == "object" and not (schema.get(_OPEN) or values is True):
        result["additionalProperties"] = False
    if "items" in schema:
        result["items"] = closed(schema["items"], custom=custom)
    required = [name for name in schema.get("required", ()) if not _filled_in(fields.get(name))]
    if required:
        result["required"] = required
    if custom and schema.get("x-kubernetes-list-type") == "set":
        result["uniqueItems"] = True
    if custom and MAP_KEYS in schema:
        result[MAP_KEYS] = schema[MAP_KEYS]
    return result


def _field(field: Mapping[str, Any], required: bool, *, custom: bool) -> JsonSchema:
    result = closed(field, custom=custom)
    if "enum" in result and not custom and not required:
        result["enum"] = [*result["enum"], ""]  # Go's empty text is an absent field
    return result


def _filled_in(field: Mapping[str, Any] | None) -> bool:
    """Whether a required field may be absent, or null, in a user's object."""
    return field is not None and ("default" in field or bool(field.get("nullable")))


def _bounds(schema: Mapping[str, Any], result: JsonSchema) -> None:
    """Bounds as JSON Schema keywords, and those of the format."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(exclusive) is True:
            result[exclusive] = result.pop(bound)
    size = _INTEGERS.get(schema.get("format", ""))
    if size is not None and schema.get("type") == "integer":
        result.setdefault("minimum", -size)
        result.setdefault("maximum", size - 1)
    if schema.get("format") == "byte":
        result["pattern"] = _BASE64
    elif schema.get("format") == "date-time":
        result["format"] = "date-time"
