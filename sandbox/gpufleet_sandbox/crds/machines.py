"""Fields embedded in a MachineSet, as the webhook of the machine API reads them.

OpenShift's definition leaves `providerSpec.value` open and its webhook validates it; the sandbox
runs no webhook. The value gets the fields of all embedded types of the catalogue, with rules that
assign them to kinds. A misspelt field, which the webhook drops with a warning, is refused here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

PROVIDER_FIELD = ("spec", "template", "spec", "providerSpec", "value")
OPEN = "x-kubernetes-preserve-unknown-fields"
_RULES = "x-kubernetes-validations"
Schema = dict[str, Any]


def with_provider(machine_set: Schema, embedded: Mapping[str, Schema]) -> Schema:
    """The schema of a MachineSet with the value of its provider described. `embedded`: the whole
    schema of each kind that may be there."""
    return _replaced(machine_set, PROVIDER_FIELD, _provider(embedded))


def _replaced(schema: Schema, path: tuple[str, ...], value: Schema) -> Schema:
    if not path:
        return value
    fields = schema["properties"]
    changed = _replaced(fields[path[0]], path[1:], value)
    return {**schema, "properties": {**fields, path[0]: changed}}


def _provider(embedded: Mapping[str, Schema]) -> Schema:
    fields: Schema = {"apiVersion": {"type": "string"}}
    for schema in embedded.values():
        for name, field in schema["properties"].items():
            fields[name] = _either(fields.get(name, field), field)
    fields["kind"] = {"type": "string", "enum": list(embedded)}
    return {
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": fields,
        _RULES: [rule for kind in embedded for rule in _rules(kind, embedded[kind], fields)],
    }


def _either(one: Schema, other: Schema) -> Schema:
    """A schema that takes values of both, as narrow as a structural schema can be."""
    if one == other:
        return one
    if one.get("type") != other.get("type"):
        return {OPEN: True}
    made: Schema = {"type": one["type"]}
    if "items" in one and "items" in other:
        made["items"] = _either(one["items"], other["items"])
    if "properties" in one and "properties" in other:
        fields, more = one["properties"], other["properties"]
        made["properties"] = {
            name: _either(fields.get(name, more.get(name)), more.get(name, fields.get(name)))
            for name in {**fields, **more}
        }
    return made


def _rules(kind: str, schema: Schema, fields: Schema) -> Iterator[Schema]:
    """Rules of one kind, which are true for objects of other kinds."""
    other = f"self.kind != '{kind}'"
    if required := schema.get("required"):
        yield {
            "rule": f"{other} || ({' && '.join(f'has(self.{name})' for name in required)})",
            "message": f"needed are {', '.join(required)}",
        }
    known = schema["properties"]
    strangers = [
        name
        for name, field in fields.items()
        if name not in {*known, "apiVersion", "kind"}
        and OPEN not in field.get("items", {})  # such lists are no fields for an expression
    ]
    yield {
        "rule": f"{other} || !({' || '.join(f'has(self.{name})' for name in strangers)})",
        "message": f"a field that {kind} does not have",
    }
    yield from ({"rule": f"{other} || ({one['rule']})"} for one in schema.get(_RULES, ()))
