"""Our definitions are narrower copies of upstream's: nothing we allow is unknown or wider there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
OURS = ROOT / "sandbox/gpufleet_sandbox/crds"
UPSTREAM = ROOT.parent / "shared/reference/crds"
DEFINITIONS = sorted(path.name for path in OURS.glob("*.yaml"))
COMPARED = ("type", "enum", "default", "minimum", "maximum", "pattern", "format")


def load(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text())


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


def test_there_are_definitions() -> None:
    assert "nvidia.com_clusterpolicies.yaml" in DEFINITIONS


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definition_is_structural_and_prunes_nothing_silently(name: str) -> None:
    definition = load(OURS / name)
    assert definition["metadata"]["labels"]["gpufleet.dev/strict"] == "true"
    for schema in schemas(definition).values():
        for path, field in fields(schema):
            assert "x-kubernetes-preserve-unknown-fields" not in field, path
            assert "type" in field or field.get("x-kubernetes-int-or-string"), path
            if field.get("type") == "object" and path not in ("", ".metadata"):
                assert field.get("properties") or field.get("additionalProperties"), path


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_field_is_upstreams(name: str) -> None:
    if not (UPSTREAM / name).exists():
        pytest.skip(f"upstream's {name} is not next to the checkout ({UPSTREAM})")
    ours, theirs = load(OURS / name), load(UPSTREAM / name)
    for key in ("group", "scope", "names"):
        assert ours["spec"][key] == theirs["spec"][key]
    differences: list[str] = []
    for version, schema in schemas(ours).items():
        upstream = dict(fields(schemas(theirs)[version]))
        for path, field in fields(schema):
            if path not in upstream:
                differences.append(f"{path}: upstream has no such field")
                continue
            differences += [
                f"{path}.{key}: {field.get(key)!r}, upstream {upstream[path].get(key)!r}"
                for key in COMPARED
                if field.get(key) != upstream[path].get(key)
            ]
            if set(field.get("required", [])) < set(upstream[path].get("required", [])) & set(
                field.get("properties", {})
            ):
                differences.append(f"{path}.required: {field.get('required')}")
    assert not differences, "\n".join(differences)
