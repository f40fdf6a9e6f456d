"""Types that a definition written by hand embeds: its own parts, and Kubernetes' types as
controller-gen writes them into a definition (without enumerations, quantities as integer or text,
keys of lists with defaults)."""

from collections.abc import Mapping

from pruning import OPEN, Schema
from sharing import rebuilt

SCALARS: Mapping[str, Schema] = {
    "meta.v1.ObjectMeta": OPEN,
    "util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
}
QUANTITY = "api.resource.Quantity"
KEY_DEFAULTS = {"protocol": "TCP"}
"""Defaults of keys of lists that are not required; of others it is empty text."""


def embedded(schema: Schema, own: Mapping[str, Schema], kubernetes: Mapping[str, Schema]) -> Schema:
    """The schema with its references replaced: by parts of the definition, or by Kubernetes' types."""

    def resolve(here: Schema) -> Schema:
        name = here.get("$ref")
        if name is None:
            return rebuilt(here, resolve)
        return resolve(own[name]) if name in own else _core(name, kubernetes)

    return resolve(schema)


def _core(name: str, kubernetes: Mapping[str, Schema]) -> Schema:
    if name in SCALARS:
        return SCALARS[name]
    body = kubernetes[name]
    if name == QUANTITY:
        return {"x-kubernetes-int-or-string": True, "pattern": body["pattern"]}
    return _made(body, kubernetes)


def _made(body: Schema, kubernetes: Mapping[str, Schema]) -> Schema:
    if "$ref" in body:
        return _core(body["$ref"].rpartition("/")[2], kubernetes)
    made = rebuilt(
        {key: value for key, value in body.items() if key != "enum"},
        lambda child: _made(child, kubernetes),
    )
    keys = made.get("x-kubernetes-list-map-keys", ())
    for key in keys:
        item = made["items"]
        if key not in item.get("required", ()):
            field = {**item["properties"][key], "default": KEY_DEFAULTS.get(key, "")}
            made["items"] = {**item, "properties": {**item["properties"], key: field}}
    return made
