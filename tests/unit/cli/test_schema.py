"""The schema describes every key, accepts what compiles, and the committed copies are current."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from gpufleet.cli import schema as made
from gpufleet.cli.schema import reference_page
from tests.reading import yaml_data
from tests.unit.cli.broken_specs import GOOD, changed
from tests.unit.fleet.test_compile import DESIGN_EXAMPLE

ROOT = Path(__file__).parents[3]
fleet_schema, stack_schema = cache(made.fleet_schema), cache(made.stack_schema)


@cache
def of_fleets() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(fleet_schema())


def test_they_are_valid_schemas():
    of_fleets().check_schema(fleet_schema())
    of_fleets().check_schema(stack_schema())


def test_every_key_says_what_it_means():
    schema = fleet_schema()
    silent = [
        f"{name}.{key}"
        for name, part in [("FleetSpec", schema), *schema["$defs"].items()]
        for key, rule in part.get("properties", {}).items()
        if not rule.get("description")
    ]
    assert silent == []


def test_it_accepts_what_compiles():
    of_fleets().validate(json.loads(json.dumps(GOOD)))
    # an editor sees the block's end as text, as JSON has no times
    document = json.loads(json.dumps(yaml_data(DESIGN_EXAMPLE), default=str))
    jsonschema.Draft202012Validator(stack_schema()).validate(document)


@pytest.mark.parametrize(
    "changes",
    [
        {"pools[0].nodes.max": 0},
        {"pools[0].intent": "train"},
        {"pools[0].gpus": "L4"},
        {"platform": "azure"},
        {"pools[0].name": "Chat"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_it_refuses_in_the_editor_what_the_compiler_refuses(changes):
    with pytest.raises(jsonschema.ValidationError):
        of_fleets().validate(changed(changes))


def test_the_stack_files_schema_is_current():
    committed = json.loads((ROOT / "stacks/stack.schema.json").read_text())
    assert committed == stack_schema(), (
        "write it again: gpufleet schema --for stack --format json > stacks/stack.schema.json"
    )


def test_the_reference_page_is_current():
    committed = (ROOT / "docs/fleet-spec.md").read_text()
    assert committed == reference_page(fleet_schema()), (
        "write it again: gpufleet schema > docs/fleet-spec.md"
    )
