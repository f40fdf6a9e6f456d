"""Variables of containers that ConfigMaps of the same build give: their values in the containers.

A file of variables in each overlay is how one base serves many models. Kubernetes does the same
when it starts a container; a key that is not there, and a Secret, stay as they are written.

Source: Kubernetes API, EnvVarSource and EnvFromSource: `env` wins over `envFrom`, later sources
over earlier ones.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping, rewritten
from gpufleet_policies.resolve.made import Made

Values = Mapping[str, Mapping[str, Any]]
"""Name of a ConfigMap -> its keys."""


def with_variables(objects: Iterable[Made]) -> None:
    """Write the values of ConfigMaps into the containers that request them."""
    listed = list(objects)
    for space in {one.namespace for one in listed}:
        maps = [one for one in listed if one.kind == "ConfigMap" and one.namespace == space]
        values = {one.name: mapping(one.data.get("data")) for one in maps}
        for one in listed if values else ():
            if one.namespace == space and one.kind != "ConfigMap":
                one.data = filled(one.data, values)


def filled(value: Any, values: Values) -> Any:
    """A part of an object with the variables of its containers; itself where nothing changes."""
    found = rewritten(value, lambda one: _completed(one, values))
    return value if found == value else found


def _completed(one: Any, values: Values) -> Any:
    """A container, or what has the fields of one, with its variables."""
    has_any = is_mapping(one) and (is_list(one.get("env")) or is_list(one.get("envFrom")))
    return {**one, "env": _environment(one, values)} if has_any else one


def _environment(container: Mapping[str, Any], values: Values) -> list[Any]:
    own = [_variable(one, values) for one in items(container.get("env"))]
    taken = {text_at(one, "name") for one in own if is_mapping(one)}
    given: dict[str, Any] = {}
    for source in items(container.get("envFrom")):
        found = values.get(text_at(source, "configMapRef.name"), {})
        given |= {text_at(source, "prefix") + key: one for key, one in found.items()}
    return own + [{"name": key, "value": one} for key, one in given.items() if key not in taken]


def _variable(one: Any, values: Values) -> Any:
    name = text_at(one, "valueFrom.configMapKeyRef.name")
    key = text_at(one, "valueFrom.configMapKeyRef.key")
    value = values.get(name, {}).get(key)
    return {"name": text_at(one, "name"), "value": value} if isinstance(value, str) else one
