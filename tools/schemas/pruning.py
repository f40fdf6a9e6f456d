"""Schemas without prose."""

from typing import Any

Schema = dict[str, Any]

DATA = frozenset(
    "type properties items additionalProperties required enum default format pattern minimum "
    "maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minProperties "
    "maxProperties multipleOf uniqueItems nullable oneOf anyOf allOf not".split()
)
"""Keywords that decide; all others are prose or belong to code generators."""
EXTENSIONS = frozenset(
    f"x-kubernetes-{name}"
    for name in (
        "int-or-string",
        "preserve-unknown-fields",
        "embedded-resource",
        "list-type",
        "list-map-keys",
        "map-type",
    )
)
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def pruned(schema: Any) -> Any:
    """A schema of a definition without prose."""
    if not isinstance(schema, dict):
        return schema
    kept: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: pruned(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties", "not"):
            kept[key] = pruned(value)
        elif key in ("oneOf", "anyOf", "allOf"):
            kept[key] = [pruned(child) for child in value]
        elif key == "x-kubernetes-validations":
            names = ("rule", "optionalOldSelf")
            kept[key] = [{name: rule[name] for name in names if name in rule} for rule in value]
        elif key in DATA or key in EXTENSIONS:
            kept[key] = value
    if kept.get("x-kubernetes-int-or-string"):
        kept.pop("anyOf", None)  # `integer` or `string`, which the extension already states
    return kept
