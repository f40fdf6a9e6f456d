"""Fields and values of Kubernetes' own kinds that a cluster of an older minor version lacks.

The catalogue's records start with Kubernetes 1.31: older additions are not reported. A field that a
feature gate hides until a later version counts from the version whose API has it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.schemas import KUBERNETES, schema_file, schema_kinds
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, visible
from gpufleet.documents.shapes import as_list, as_mapping

_FIELDS = "kubernetes-fields"
Steps = tuple[str | int, ...]


NewerField = tuple[Steps, object, tuple[int, ...]]
"""Steps of a field, its value (None if the field itself is new), and the minor version that
introduced the field or the value."""


def newer_fields(document: Any) -> tuple[NewerField, ...]:
    """Fields of an object whose first minor version is recorded; none for other kinds."""
    item: Mapping[str, Any] = as_mapping(document) or {}
    version, name = str(item.get("apiVersion")), str(item.get("kind"))
    if schema_kinds().get(version, {}).get(name) != KUBERNETES:
        return ()
    return tuple(_below(schema_file(KUBERNETES)["kinds"][version][name], document, ()))


def newer_problems(document: Any, cluster: tuple[int, ...]) -> Iterator[SchemaProblem]:
    """The fields that a cluster of a minor version does not have."""
    has = ".".join(map(str, cluster))
    for steps, written, introduced in newer_fields(document):
        if cluster[:2] >= introduced:
            continue
        since, name = ".".join(map(str, introduced)), steps[-1]
        value = None if written is None else visible(document, steps, written)
        what = f"{name}" if written is None else f"{name}: {value or 'this value'}"
        message = f"{what} came with Kubernetes {since}, the cluster has {has}"
        fix = f"remove it, or use Kubernetes {since} or newer"
        yield SchemaProblem(SchemaProblemKind.UNKNOWN, message, fix, steps, value, since)


def _below(schema: Mapping[str, Any], value: Any, steps: Steps) -> Iterator[NewerField]:
    data = schema_file(_FIELDS)
    fields: Mapping[str, str] = {}
    values: Mapping[str, Mapping[str, str]] = {}
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in _definitions():
            return
        fields, values = data["fields"].get(name, fields), data["values"].get(name, values)
        schema = cast("Mapping[str, Any]", schema_file(KUBERNETES)["$defs"][name])
    known = schema.get("properties", {})
    for key, inner in (as_mapping(value) or {}).items():
        at = (*steps, key)
        if inner is None:
            continue
        if key in fields:
            yield at, None, numbers(fields[key])
        elif isinstance(inner, str) and inner in values.get(key, {}):
            yield at, inner, numbers(values[key][inner])
        child = known.get(key, schema.get("additionalProperties"))
        if isinstance(child, dict) and isinstance(inner, (dict, list)):
            yield from _below(cast("Mapping[str, Any]", child), inner, at)
    for index, inner in enumerate((as_list(value) or []) if "items" in schema else ()):
        yield from _below(schema["items"], inner, (*steps, index))


@cache
def _definitions() -> frozenset[str]:
    """Names of the definitions with a recorded field or value, and of those that refer to them."""
    parts = schema_file(KUBERNETES)["$defs"]
    refers = {name: set(re.findall(r"#/\$defs/([^']+)", str(one))) for name, one in parts.items()}
    data = schema_file(_FIELDS)
    found = {*data["fields"], *data["values"]}
    while more := {name for name, below in refers.items() if below & found} - found:
        found |= more
    return frozenset(found)
