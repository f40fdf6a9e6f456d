"""`gpufleet schema`: the JSON Schema of the FleetSpec."""

import json
from typing import Any

import click

from gpufleet.spec import FleetSpec

SCHEMA_ID = "https://gpufleet.dev/schema/fleet.json"


def fleet_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a FleetSpec, with a description on every key."""
    schema = FleetSpec.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}


def stack_schema() -> dict[str, Any]:
    """JSON Schema of a Pulumi stack file that holds a FleetSpec under `gpufleet:fleet`."""
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


@click.command()
@click.option(
    "--for",
    "document",
    type=click.Choice(["spec", "stack"]),
    default="spec",
    show_default=True,
    help="spec: a bare FleetSpec. stack: a Pulumi stack file that holds one.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="json",
    show_default=True,
    help="Both print the schema, which is JSON.",
)
def command(document: str, output_format: str) -> None:
    """JSON Schema of the FleetSpec, for editors and CI.

    Save it and point your editor at it, as the stack files of this project do:

    \b
        gpufleet schema --for stack > stacks/stack.schema.json
        # yaml-language-server: $schema=stack.schema.json
    """
    del output_format
    schema = stack_schema() if document == "stack" else fleet_schema()
    click.echo(json.dumps(schema, indent=2))
