"""Plans of `terraform show -json` (and OpenTofu's) as facts.

`resource_changes` hold what will be and which of it is not known yet; `planned_values` hold the
rest. Resources that will be deleted are left out.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.shapes import is_list, is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import api_object, camel_keys, inside, literal
from gpufleet_policies.readers.kubernetes_objects import facts_of_object
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.readers.pulumi_props import facts_of_properties
from gpufleet_policies.readers.pulumi_types import is_unread, token_of
from gpufleet_policies.readers.reading import holds_unknown
from gpufleet_policies.wrappers.judged import NotJudged

_MANIFESTS = {"kubernetes_manifest": "manifest", "kubectl_manifest": "yaml_body"}
"""Types that hold a Kubernetes object -> the attribute that holds it."""

MAX_DEPTH = 64
"""Maximum number of levels of modules and values in a plan."""


def is_plan(document: Mapping[str, Any]) -> bool:
    """Whether a document is a plan or state that `terraform show -json` printed."""
    return "format_version" in document and ("planned_values" in document or "values" in document)


def facts_of_plan(document: Mapping[str, Any], path: str) -> Iterator[Any]:
    """The facts of every resource that will exist."""
    for kind, address, values in planned_resources(document):
        yield from facts_of_values(kind, values, address, path)


def planned_resources(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Type, address and values of every resource that will exist, UNKNOWN where a value is not yet
    known."""
    changed = {
        str(change.get("address")): change
        for change in items(document.get("resource_changes"))
        if is_mapping(change)
    }
    for address, change in changed.items():
        if change.get("mode", "managed") != "managed":
            continue
        what = mapping(change.get("change"))
        if what.get("actions") == ["delete"] or what.get("after") is None:
            continue
        after = overlaid(plain(what.get("after")), what.get("after_unknown"))
        yield str(change.get("type")), address, after
    for key in ("planned_values", "values"):
        root = inside(document, f"{key}.root_module")
        for resource in _resources(root, 0):
            address = str(resource.get("address"))
            if address not in changed and resource.get("mode", "managed") == "managed":
                yield str(resource.get("type")), address, plain(resource.get("values"))


def _resources(module: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    for resource in items(mapping(module).get("resources")):
        if is_mapping(resource):
            yield resource
    for child in items(mapping(module).get("child_modules")):
        yield from _resources(child, depth + 1)


def overlaid(value: Any, hidden: Any, depth: int = 0) -> Any:
    """A planned value with UNKNOWN where `after_unknown` is true."""
    if hidden is True or depth > MAX_DEPTH:
        return UNKNOWN
    if is_mapping(hidden) and isinstance(value, dict | None):
        merged = dict(mapping(value))
        for key, below in hidden.items():
            if below is True or isinstance(below, dict | list):
                found = overlaid(merged.get(key), below, depth + 1)
                if found is not None:
                    merged[key] = found
        return merged if merged or value is not None else None
    if is_list(hidden) and isinstance(value, list | None):
        written = items(value)
        length = max(len(written), len(hidden))
        return [
            overlaid(
                written[i] if i < len(written) else None,
                hidden[i] if i < len(hidden) else None,
                depth + 1,
            )
            for i in range(length)
        ]
    return value


def is_read(kind: str) -> bool:
    """Whether rules read the fields of a type of resource."""
    return token_of(kind) is not None or kind in _MANIFESTS


def facts_of_values(kind: str, values: Any, address: str, path: str) -> Iterator[Any]:
    """The facts of one resource, or the reason why it is not validated."""
    if not is_mapping(values):
        return
    if kind in _MANIFESTS:
        yield from _manifest(values.get(_MANIFESTS[kind]), address, path)
        return
    token = token_of(kind)
    if token is None and is_unread(kind):
        yield NotJudged(
            locator=Locator(kind, address, file=path),
            what="terraform",
            reason=f"no rule reads the fields of {kind}",
        )
    if token is not None:
        document = values if kind == "helm_release" else camel_keys(values)
        if kind.startswith("kubernetes_"):
            document = api_object({name: values.get(name) for name in ("metadata", "spec")})
            document["data"] = {k: _text(v) for k, v in mapping(values.get("data")).items()} or None
        yield from facts_of_properties(token, document, address, "", path)


def _text(value: Any) -> Any:
    """A value of a ConfigMap: what `yamlencode` or `jsonencode` writes is text."""
    if not is_mapping(value) and not is_list(value):
        return value
    return UNKNOWN if holds_unknown(value) else json.dumps(value)


def _manifest(written: Any, address: str, path: str) -> Iterator[Any]:
    if isinstance(written, str):
        try:
            written = plain(literal(written) or {})
        except UnreadableDocumentError:
            written = {}
    if is_mapping(written) and isinstance(written.get("kind"), str):
        yield from facts_of_object(written, path, name=address)
    elif written is not None and written is not UNKNOWN:
        where = Locator("Manifest", address, file=path)
        yield NotJudged(locator=where, what="terraform", reason="it holds no object of Kubernetes")
