"""`gpufleet schema`: the JSON Schema of the FleetSpec, and the same as a page for people."""

import json
from collections.abc import Iterator
from typing import Any, cast

import click
from pydantic import BaseModel

from gpufleet.cli.options import options
from gpufleet.cli.output import format_option
from gpufleet.spec.descriptions import descriptions
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.spelling import models_in

SCHEMA_ID = "https://gpufleet.dev/schema/fleet.json"


def fleet_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a FleetSpec, with a description on every key."""
    schema = FleetSpec.model_json_schema(by_alias=True)
    for model in _models(FleetSpec):
        part = schema if model is FleetSpec else schema["$defs"][model.__name__]
        for name, text in descriptions(model).items():
            part["properties"][model.model_fields[name].alias or name]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The model and every model inside it, each once."""
    waiting, seen = [model], {model}
    while waiting:
        current = waiting.pop()
        yield current
        for field in current.model_fields.values():
            for inner in models_in(field.annotation):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)


def stack_schema() -> dict[str, Any]:
    """JSON Schema of a Pulumi stack file with a FleetSpec under `gpufleet:fleet`."""
    fleet = fleet_schema()
    definitions = fleet.pop("$defs")
    fleet.pop("$schema")
    fleet.pop("$id")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://gpufleet.dev/schema/stack.json",
        "title": "Pulumi stack file with a GPU fleet",
        "type": "object",
        "properties": {
            "config": {"type": "object", "properties": {"gpufleet:fleet": fleet}},
        },
        "$defs": definitions,
    }


def reference_page(schema: dict[str, Any]) -> str:
    """The keys of the FleetSpec as a Markdown page: one table for each part."""
    parts = ["# FleetSpec", "", _one_line(schema["description"]), "", *_table(schema)]
    for name, part in schema["$defs"].items():
        if "enum" in part:
            values = ", ".join(f"`{value}`" for value in part["enum"])
            parts += ["", f"## {name}", "", f"{_one_line(part['description'])} One of {values}."]
        else:
            parts += ["", f"## {name}", "", _one_line(part["description"])]
            if part.get("properties"):
                parts += ["", *_table(part)]
    return "\n".join(parts) + "\n"


def _table(part: dict[str, Any]) -> Iterator[str]:
    needed = set(part.get("required", ()))
    yield "| key | value | meaning |"
    yield "|---|---|---|"
    for key, rule in part.get("properties", {}).items():
        mark = " (needed)" if key in needed else ""
        text = _one_line(rule.get("description", "")).replace("|", "\\|")
        yield f"| `{key}`{mark} | {_kind(rule)} | {text} |"


def _kind(rule: dict[str, Any]) -> str:
    """The allowed values of a key, in a few words."""
    if "$ref" in rule:
        name = rule["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in rule:
        kinds = [_kind(one) for one in rule["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in rule:
        return f"`{rule['const']}`"
    if "enum" in rule:
        return ", ".join(f"`{value}`" for value in rule["enum"])
    kind = str(rule.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(rule.get('items', {}))}"
    if kind == "object":
        inner = rule.get("additionalProperties", True)
        if isinstance(inner, dict) and inner:
            return f"mapping to {_kind(cast('dict[str, Any]', inner))}"
        patterns = rule.get("patternProperties")
        if patterns:
            return f"mapping to {_kind(next(iter(patterns.values())))}"
        return "mapping"
    return {"integer": "whole number", "string": "text", "boolean": "true, false"}.get(kind, kind)


def _one_line(text: str) -> str:
    return " ".join(text.split())


@click.command()
@options(__file__, "schema")
@format_option
def command(document: str, output_format: str) -> None:
    """Every key of the FleetSpec: a page for people, or JSON Schema for editors and CI.

    Save the JSON and point your editor at it, as the stack files of this project do:

    \b
        gpufleet schema --for stack --format json > stacks/stack.schema.json
        # yaml-language-server: $schema=stack.schema.json
    """
    if output_format == "text":
        click.echo(reference_page(fleet_schema()), nl=False)
        return
    schema = stack_schema() if document == "stack" else fleet_schema()
    click.echo(json.dumps(schema, indent=2))
