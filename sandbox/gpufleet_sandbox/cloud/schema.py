"""The package schema that YAML programs request, made from the same introspection."""

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.replacement import REPLACING
from gpufleet_sandbox.cloud.sdk import Sdk
from gpufleet_sandbox.cloud.shapes import (
    ListOf,
    MapOf,
    ObjectShape,
    Property,
    Scalar,
    Shape,
    StringChoice,
)


def package_schema(sdk: Sdk) -> dict[str, Any]:
    """The resources with more facts here than their types; a whole SDK has thousands."""
    types: dict[str, Any] = {}
    resources: dict[str, Any] = {}
    for token in REPLACING:
        if not token.startswith(f"{sdk.name}:"):
            continue
        resource = sdk.resource(token)
        inputs = _properties(sdk.name, resource.record.properties, types)
        outputs = {
            name: inputs.get(name, {"$ref": "pulumi.json#/Any"}) for name in resource.outputs
        }
        resources[token] = {
            "properties": dict(sorted(outputs.items())),
            "inputProperties": inputs,
            "requiredInputs": _required(resource.record.properties),
        }
    settings = _properties(sdk.name, sdk.provider.properties, types)
    return {
        "name": sdk.name,
        "version": sdk.version,
        "resources": resources,
        "types": types,
        "provider": {"inputProperties": settings},
        "config": {"variables": settings},
    }


def _properties(
    package: str, properties: Mapping[str, Property], types: dict[str, Any]
) -> dict[str, Any]:
    return {name: _type(package, one.shape, types) for name, one in properties.items()}


def _required(properties: Mapping[str, Property]) -> list[str]:
    return sorted(name for name, one in properties.items() if one.required)


def _type(package: str, shape: Shape, types: dict[str, Any]) -> dict[str, Any]:
    match shape:
        case Scalar(kind):
            return {"type": kind}
        case StringChoice():
            return {"type": "string"}
        case ListOf(item):
            return {"type": "array", "items": _type(package, item, types)}
        case MapOf(item):
            return {"type": "object", "additionalProperties": _type(package, item, types)}
        case ObjectShape(name):
            token = f"{package}:index/{name}:{name}"
            if token not in types:
                types[token] = {"type": "object"}  # before its own properties: types recurse
                types[token] |= {
                    "properties": _properties(package, shape.properties, types),
                    "required": _required(shape.properties),
                }
            return {"$ref": f"#/types/{token}"}
        case _:
            return {"$ref": "pulumi.json#/Any"}
