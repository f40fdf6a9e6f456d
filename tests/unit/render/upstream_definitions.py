"""Our objects against the definitions their controllers publish, where a copy is at hand."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpufleet.contract.schemas.validator import schema_problems
from tests.reading import yaml_data

FOLDER = Path(__file__).parents[4] / "shared/reference/crds"


def assert_accepted(definition: str, document: dict[str, Any]) -> None:
    """The object fits the schema of its version, and no field of it would be pruned: by the
    catalogue's schema, and by the vendor's file where there is a copy."""
    assert schema_problems(document) == ()
    path = FOLDER / definition
    if not path.exists():
        pytest.skip(f"no copy of {definition} next to the repository (shared/reference/crds)")
    assert_fits(yaml_data(path.read_text(encoding="utf-8")), document)


def assert_fits(crd: dict[str, Any], document: dict[str, Any]) -> None:
    """The object fits a definition, and has no field that the definition does not name."""
    assert problems_of(crd, document) == []


def problems_of(crd: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Fields that do not fit a definition, unknown fields included."""
    served = {version["name"]: version for version in crd["spec"]["versions"]}
    group, _, version = document["apiVersion"].partition("/")
    assert (group, document["kind"]) == (crd["spec"]["group"], crd["spec"]["names"]["kind"])
    assert served[version]["served"], f"{version} is not served"
    schema = served[version]["schema"]["openAPIV3Schema"]
    # They belong to every object, which a definition does not need to say.
    schema["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    return [
        f"{'.'.join(map(str, problem.absolute_path))}: {problem.message}"
        for problem in Draft202012Validator(_closed(schema)).iter_errors(document)
    ]


def _closed(schema: Any) -> Any:
    """The schema with every field it does not name refused."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(closed.get("pattern"), str) and "(?i)" in closed["pattern"]:
        # Go takes a flag anywhere, Python at the beginning only.
        closed["pattern"] = "(?i)" + closed["pattern"].replace("(?i)", "")
    named = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if named and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed.setdefault("additionalProperties", False)
    return closed
