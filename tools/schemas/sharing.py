"""Equal parts of schemas, written once."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pruning import Schema


def shared(schemas: dict[str, Schema]) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas with equal parts replaced by references, and the parts by name."""
    text: dict[int, str] = {}
    edges: dict[str, set[tuple[str, str]]] = {}
    names: dict[str, str] = {}

    def visit(schema: Schema, parent: str, name: str) -> None:
        body = text[id(schema)] = json.dumps(schema, sort_keys=True)
        edges.setdefault(body, set()).add((parent, name))
        names.setdefault(body, name)
        for child_name, child in children(schema):
            visit(child, body, child_name)

    for name, schema in schemas.items():
        visit(schema, name, "")
    defs: dict[str, Schema] = {}
    given: dict[str, str] = {}
    used: Counter[str] = Counter()

    def emit(schema: Schema) -> Schema:
        body = text[id(schema)]
        if len(body) < 160 or len(edges[body]) < 2:
            return rebuilt(schema, emit)
        if body not in given:
            base = names[body].split("/")[-1] or "schema"
            used[base] += 1
            given[body] = name = base if used[base] == 1 else f"{base}{used[base]}"
            defs[name] = {}
            defs[name] = rebuilt(schema, emit)
        return {"$ref": f"#/$defs/{given[body]}"}

    return {name: rebuilt(schema, emit) for name, schema in schemas.items()}, defs


def children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """The schemas of fields, items and values, each with a name."""
    for name, child in schema.get("properties", {}).items():
        yield name, child
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield f"{key}", schema[key]


def rebuilt(schema: Schema, emit: Any) -> Schema:
    """The schema with its children emitted."""
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {name: emit(child) for name, child in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = emit(schema[key])
    return result
