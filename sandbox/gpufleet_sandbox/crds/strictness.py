"""Making the API server refuse unknown fields instead of dropping them.

A structural schema prunes unknown fields before any validation reads them, and reports it only to
clients that request strict field validation; Pulumi's Kubernetes provider and Helm do not (the
provider requests a warning). So a definition labelled `gpufleet.dev/strict` is applied with its
spec left open, and a ValidatingAdmissionPolicy generated from the same schema refuses every field
that the schema does not have. Types, choices and defaults stay the schema's.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any

STRICT_LABEL = "gpufleet.dev/strict"
_KEPT = "x-kubernetes-preserve-unknown-fields"
_ADMISSION = "admissionregistration.k8s.io/v1"

Schema = dict[str, Any]


def is_strict(definition: dict[str, Any]) -> bool:
    """Whether the definition is labelled strict, and has a spec that could hold unknown fields."""
    labels = definition["metadata"].get("labels") or {}
    return labels.get(STRICT_LABEL) == "true" and all(
        "spec" in version["schema"]["openAPIV3Schema"].get("properties", {})
        for version in definition.get("spec", {}).get("versions", [])
    )


def opened(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition with unknown fields of its spec kept for the admission policy to see."""
    result = copy.deepcopy(definition)
    for version in result["spec"]["versions"]:
        _open(version["schema"]["openAPIV3Schema"]["properties"].get("spec", {}))
    return result


def admission(definition: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The policy that refuses unknown fields of the spec, and its binding.

    Raises:
        ValueError: Versions with different schemas: one policy cannot serve both.
    """
    spec = definition["spec"]
    schemas = [v["schema"]["openAPIV3Schema"]["properties"]["spec"] for v in spec["versions"]]
    if any(schema != schemas[0] for schema in schemas):
        raise ValueError(f"{definition['metadata']['name']}: versions have different schemas")
    name = f"strict-{definition['metadata']['name']}"
    policy = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [spec["group"]],
                        "apiVersions": [version["name"] for version in spec["versions"]],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": [spec["names"]["plural"]],
                    }
                ]
            },
            "matchConditions": [{"name": "has-spec", "expression": "has(object.spec)"}],
            "validations": list(_rules(schemas[0], "spec", "object.spec", lambda body: body, 0)),
        },
    }
    binding = {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return policy, binding


def _open(schema: Schema) -> None:
    if schema.get("properties"):
        schema[_KEPT] = True
    for child in _children(schema):
        _open(child)


def _children(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("properties", {}).values()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield schema[key]


def _rules(
    schema: Schema, path: str, value: str, within: Callable[[str], str], depth: int
) -> Iterator[dict[str, str]]:
    """One rule per object of the schema; `within` puts a condition on `value` in its context."""
    properties = schema.get("properties")
    if properties and not schema.get(_KEPT):
        known = "[" + ", ".join(f"'{name}'" for name in properties) + "]"
        rule = {
            "expression": within(f"{value}.all(k, k in {known})"),
            "message": f"{path} has an unknown field; known are {', '.join(properties)}",
        }
        if depth == 0:
            names = f"{value}.filter(k, !(k in {known})).join(', ')"
            rule["messageExpression"] = f"'unknown field in {path}: ' + {names}"
        yield rule
    if properties:
        for name, child in properties.items():
            inner = f"{value}['{name}']"

            def present(body: str, name: str = name) -> str:
                return within(f"!('{name}' in {value}) || ({body})")

            yield from _rules(child, f"{path}.{name}", inner, present, depth)
    if isinstance(schema.get("items"), dict):
        item = f"item{depth}"
        yield from _rules(
            schema["items"],
            f"{path}[]",
            item,
            lambda body: within(f"{value}.all({item}, {body})"),
            depth + 1,
        )
    if isinstance(schema.get("additionalProperties"), dict):
        key = f"key{depth}"
        yield from _rules(
            schema["additionalProperties"],
            f"{path}.*",
            f"{value}[{key}]",
            lambda body: within(f"{value}.all({key}, {body})"),
            depth + 1,
        )
