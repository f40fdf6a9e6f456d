"""The definitions of the sandbox's API server: the vendors' whole ones, and narrower ones of ours
for kinds whose vendor publishes none that the catalogue has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.crds import vendors
from gpufleet_sandbox.crds.strictness import is_strict
from tests.reading import yaml_data

ROOT = Path(__file__).parents[3]
OURS = ROOT / "sandbox/gpufleet_sandbox/crds"
UPSTREAM = ROOT.parent / "shared/reference/crds"
FILES = sorted(path.name for path in OURS.glob("*.yaml"))
VENDORS = [(name, kind) for name, kinds in vendors.KINDS.items() for kind in kinds]
PROSE = ("description", "title", "example", "externalDocs")


def load(path: Path) -> dict[str, Any]:
    return yaml_data(path.read_text())


def schemas(definition: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        version["name"]: version["schema"]["openAPIV3Schema"]
        for version in definition["spec"]["versions"]
    }


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from fields(child, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from fields(schema["additionalProperties"], f"{path}{{}}")


@pytest.mark.parametrize("name", FILES)
def test_a_definition_of_ours_is_structural_and_prunes_nothing_silently(name: str) -> None:
    definition = load(OURS / name)
    assert definition["metadata"]["labels"]["gpufleet.dev/strict"] == "true"
    for schema in schemas(definition).values():
        for path, field in fields(schema):
            assert "x-kubernetes-preserve-unknown-fields" not in field, path
            assert "type" in field or field.get("x-kubernetes-int-or-string"), path
            if field.get("type") == "object" and path not in ("", ".metadata"):
                assert field.get("properties") or field.get("additionalProperties"), path


def test_no_kind_has_two_definitions() -> None:
    names = [one["metadata"]["name"] for one in custom_resources.packaged()]
    assert len(names) == len(set(names)) == len(FILES) + len(VENDORS)


def decided(field: dict[str, Any]) -> dict[str, Any]:
    """Constraints of a field itself, without prose."""
    rules = [
        {key: rule[key] for key in rule if key in ("rule", "optionalOldSelf")}
        for rule in field.get("x-kubernetes-validations", [])
    ]
    kept = {
        key: value
        for key, value in field.items()
        if key not in PROSE
        and key not in ("properties", "items", "additionalProperties", "x-kubernetes-validations")
    }
    if kept.get("x-kubernetes-int-or-string"):
        kept.pop("anyOf", None)
    return kept | ({"x-kubernetes-validations": rules} if rules else {})


@pytest.mark.parametrize(("name", "kind"), VENDORS)
def test_a_definition_of_the_catalogue_is_the_vendors(name: str, kind: str) -> None:
    ours = vendors.definition(name, kind)
    file = UPSTREAM / f"{ours['spec']['group']}_{ours['spec']['names']['plural']}.yaml"
    if not file.exists():
        pytest.skip(f"the vendor's {file.name} is not next to the checkout ({UPSTREAM})")
    theirs = load(file)
    for key in ("group", "scope", "names"):
        assert ours["spec"][key] == theirs["spec"][key]
    (version, schema), *others = schemas(ours).items()
    assert others == []
    upstream = dict(fields(schemas(theirs)[version]))
    made = dict(fields(schema))
    left_out = (".apiVersion", ".kind", ".metadata", ".status")
    assert {path for path in upstream if not path.startswith(left_out)} == {
        path for path in made if not path.startswith(left_out)
    }
    for path, field in made.items():
        if path and not path.startswith(left_out):
            assert decided(field) == decided(upstream[path]), path


def test_the_servers_are_strict_about_every_kind_with_a_spec() -> None:
    loose = [
        one["spec"]["names"]["kind"] for one in custom_resources.packaged() if not is_strict(one)
    ]
    assert loose == ["WorkloadPriorityClass"], "its fields are at the top"
