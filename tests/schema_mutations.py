"""Objects that break one field of a vendor's definition each.

Written from CustomResourceDefinition files alone; it is independent of the catalogue. Each mutation
starts from the smallest object that has the field.
"""

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.reading import read_yaml

UPSTREAM = Path(__file__).parents[2] / "shared/reference/crds"
SAMPLES = (
    *("a", "1", "1h", "10Gi", "1m", "a/b", "a.b/c", "al2023@latest", "sg-0123456789abcdef0"),
    *("subnet-0123456789abcdef0", "ami-0123456789abcdef0", "cr-0123456789abcdef0", "100", "1%"),
    *("pg-0123456789abcdef0", "123456789012", "0 0 * * *", "10.0.0.1", "a.example/b", "A", "+1"),
    *("1Gi", "use1-az1", "us-east-1a", "latest", "a b", "2026-11-22T00:00:00Z", "0s", "/a"),
)
STRANGER = "gpufleetStranger"

Schema = dict[str, Any]


@dataclass(frozen=True)
class Mutation:
    """One object that a definition refuses."""

    what: str
    """`type`, `enum`, `bound`, `pattern`, `required`, `unknown`."""
    path: str
    document: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.what} {self.path}"


_ONLY_NAME = {"ClusterAutoscaler": "default"}
"""Names that a definition's own rule requires: else a server refuses each mutation for its name."""


@dataclass(frozen=True)
class Definition:
    """One version of a definition."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    schema: Schema

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def document(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": _ONLY_NAME.get(self.kind, "gpu-cluster")},
            **spec,
        }


def definitions(files: list[Path]) -> list[Definition]:
    """Every served version of some files."""
    return [one for file in files for one in of_definition(read_yaml(file))]


def of_definition(definition: dict[str, Any]) -> list[Definition]:
    """Every served version of a CustomResourceDefinition."""
    found: list[Definition] = []
    spec = definition["spec"]
    for version in spec["versions"]:
        if not version["served"]:
            continue
        schema = version["schema"]["openAPIV3Schema"]
        fields = {
            name: field
            for name, field in schema.get("properties", {}).items()
            if name not in ("apiVersion", "kind", "metadata", "status")
        }
        found.append(
            Definition(
                spec["group"],
                version["name"],
                spec["names"]["kind"],
                spec["names"]["plural"],
                spec["scope"] == "Namespaced",
                {**schema, "properties": fields},
            )
        )
    return found


def mutations(definition: Definition) -> Iterator[Mutation]:
    """Every mutation that the definition itself refuses, by another validator."""
    referee = Draft202012Validator(_closed(definition.schema))
    for path, field, steps in _fields(definition.schema, "", ()):
        for what, value in _wrong(field):
            spec = _with(definition.schema, steps, value)
            if spec is not None and not referee.is_valid(spec):
                yield Mutation(what, path, definition.document(spec))
        for name in field.get("required", ()):
            if "default" in field.get("properties", {}).get(name, {}):
                continue
            value = _smallest(field)
            if isinstance(value, dict) and name in value:
                del value[name]
                spec = _with(definition.schema, steps, value)
                if spec is not None and not referee.is_valid(spec):
                    yield Mutation("required", f"{path}.{name}", definition.document(spec))


def smallest(definition: Definition) -> dict[str, Any]:
    """The smallest object of a definition."""
    return definition.document(_smallest(definition.schema))


def _fields(
    schema: Schema, path: str, steps: tuple[str | int, ...]
) -> Iterator[tuple[str, Schema, tuple[str | int, ...]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field, (*steps, name)
        yield from _fields(field, f"{path}.{name}", (*steps, name))
    if isinstance(schema.get("items"), dict):
        yield f"{path}[]", schema["items"], (*steps, 0)
        yield from _fields(schema["items"], f"{path}[]", (*steps, 0))
    if isinstance(schema.get("additionalProperties"), dict):
        yield f"{path}.*", schema["additionalProperties"], (*steps, "a")
        yield from _fields(schema["additionalProperties"], f"{path}.*", (*steps, "a"))


def _wrong(field: Schema) -> Iterator[tuple[str, Any]]:
    kind = field.get("type")
    if field.get("x-kubernetes-int-or-string"):
        yield from (("type", one) for one in (True, [], {"a": "b"}, 1.5))
    elif kind == "boolean":
        yield from (("type", one) for one in ("true", 1, "maybe", []))
    elif kind == "string":
        yield from (("type", one) for one in (580, 1.5, True, {"a": "b"}))
        if "format" not in field:  # a server takes a list there: kube-openapi validate/type.go
            yield "type", []
    elif kind in ("integer", "number"):
        yield from (("type", one) for one in ("5", True, [], {"a": "b"}))
        if kind == "integer":
            yield "type", 1.5
        if field.get("format") == "int32":
            yield "bound", 1 << 31
    elif kind == "array":
        yield from (("type", one) for one in ("a", {"a": "b"}, True, 1))
    elif kind == "object":
        yield from (("type", one) for one in ("a", [], True, 1))
        value = _smallest(field)
        if isinstance(value, dict) and field.get("properties"):
            yield "unknown", {**value, STRANGER: 1}
            yield "unknown", {**value, STRANGER: None}
    if "enum" in field:
        yield "enum", "no-such-choice"
    if "pattern" in field:
        pattern = re.compile(go_pattern(field["pattern"]))
        unfit = ("\t~ no such text ~", ".")
        yield "pattern", next((one for one in unfit if not pattern.search(one)), unfit[0])
    for name, by in (("minimum", -1), ("maximum", 1)):
        if name in field:
            yield "bound", field[name] + by
    if field.get("minLength"):
        yield "bound", "a" * (field["minLength"] - 1)
    if field.get("maxLength", 1 << 20) < 1 << 12:
        yield "bound", "a" * (field["maxLength"] + 1)
    if field.get("minItems") and kind == "array":
        yield "bound", [_smallest(field["items"])] * (field["minItems"] - 1)
    if field.get("maxItems", 1 << 20) <= 100 and kind == "array":
        yield "bound", [_smallest(field["items"])] * (field["maxItems"] + 1)


def _with(schema: Schema, steps: tuple[str | int, ...], value: Any) -> Any:
    """The smallest object with a value at a place."""
    if not steps:
        return copy.deepcopy(value)
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return [_with(schema["items"], rest, value)]
    whole = _smallest(schema)
    if not isinstance(whole, dict):
        return None
    inner = schema.get("properties", {}).get(step) or schema["additionalProperties"]
    whole[step] = _with(inner, rest, value)
    return whole


def _smallest(schema: Schema) -> Any:
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        return max(schema.get("minimum", 1), min(1, schema.get("maximum", 1)))
    if kind == "string":
        return _text(schema)
    if kind == "array":
        return [_smallest(schema["items"]) for _ in range(schema.get("minItems", 0))]
    names = [n for n in schema.get("required", ()) if n in schema.get("properties", {})]
    return {name: _smallest(schema["properties"][name]) for name in names}


def _text(schema: Schema) -> str:
    pattern = re.compile(go_pattern(schema.get("pattern", "")))
    fits = (one for one in SAMPLES if pattern.search(one))
    return next((one for one in fits if len(one) >= schema.get("minLength", 0)), "a")


def go_pattern(pattern: str) -> str:
    """Go takes a flag anywhere, Python at the beginning only."""
    return "(?i)" + pattern.replace("(?i)", "") if "(?i)" in pattern else pattern


def _closed(schema: Any) -> Any:
    """The definition with unknown fields refused and int32 bounded, for the referee."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(closed.get("pattern"), str):
        closed["pattern"] = go_pattern(closed["pattern"])
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed["required"] = [
            name
            for name in schema.get("required", ())
            if "default" not in schema["properties"].get(name, {})
        ]
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            closed.setdefault("additionalProperties", False)
    if schema.get("format") == "int32":
        closed.setdefault("maximum", (1 << 31) - 1)
    if schema.get("x-kubernetes-int-or-string"):
        closed["type"] = ["integer", "string"]
    closed.pop("format", None)
    return closed


def text(mutation: Mutation) -> str:
    """The object as a file."""
    return json.dumps(mutation.document)
