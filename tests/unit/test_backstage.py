"""templates/backstage: what a form accepts is what the FleetSpec accepts.

Format: backstage/backstage `scaffolder.backstage.io/v1beta3`; values of a skeleton are written
`${{ values.NAME }}`.
"""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from gpufleet.cli.schema import fleet_schema
from gpufleet.platforms.compiled import compile_data
from tests.reading import yaml_data

FOLDER = Path(__file__).parents[2] / "templates" / "backstage"
TEMPLATE: dict[str, Any] = yaml_data((FOLDER / "template.yaml").read_text(encoding="utf-8"))
FIELDS: dict[str, Any] = {
    name: field
    for page in TEMPLATE["spec"]["parameters"]
    for name, field in page["properties"].items()
}
PLACES = {
    "name": ("Cluster", "name"),
    "pool": ("GpuPool", "name"),
    "most": ("Nodes", "max"),
    "replicas": ("TimeSlicing", "replicas"),
}
"""Field of the form -> model and key of the FleetSpec."""
REGIONS = {"eks": "us-east-1", "gke": "us-central1"}


def filled(name: str, values: dict[str, Any]) -> Any:
    text = (FOLDER / "skeleton" / name).read_text(encoding="utf-8")
    return yaml_data(re.sub(r"\$\{\{ values\.(\w+) \}\}", lambda m: str(values[m[1]]), text))


@pytest.mark.parametrize("name", PLACES)
def test_bounds_are_those_of_the_schema(name: str) -> None:
    model, key = PLACES[name]
    schema = fleet_schema()["$defs"][model]["properties"][key]
    bounds = ("pattern", "maxLength", "minimum", "maximum")
    found = {one: FIELDS[name][one] for one in bounds if one in FIELDS[name]}
    assert found == {one: schema[one] for one in bounds if one in schema}


@pytest.mark.parametrize(
    ("platform", "gpu"),
    list(itertools.product(FIELDS["platform"]["enum"], FIELDS["gpu"]["enum"])),
)
def test_every_choice_compiles(platform: str, gpu: str) -> None:
    values = {name: field.get("default") for name, field in FIELDS.items()}
    values |= {"name": "ml", "pool": "chat", "platform": platform, "gpu": gpu, "budget": 1000}
    values["region"] = REGIONS[platform]
    compiled = compile_data(filled("fleet.yaml", values))
    assert compiled.deployable, [one.message for one in compiled.findings]


def test_every_value_of_the_skeleton_is_asked_for() -> None:
    given = TEMPLATE["spec"]["steps"][0]["input"]["values"]
    used = {
        name
        for file in (FOLDER / "skeleton").iterdir()
        for name in re.findall(r"values\.(\w+)", file.read_text(encoding="utf-8"))
    }
    assert used == set(given)
    assert set(given) <= set(FIELDS)
