"""`pulumi preview --json` and `pulumi stack export` as facts."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.documents.shapes import is_list, is_mapping, items
from gpufleet_policies.names import names
from gpufleet_policies.readers.blocks import inside
from gpufleet_policies.readers.plain import SIGNATURE, plain
from gpufleet_policies.readers.pulumi_props import facts_of_properties, is_validated
from gpufleet_policies.readers.reading import without

_HIDDEN = "[secret]"
"""Wire format of secrets in previews (sdk/go/common/resource/sig)."""

_GONE = frozenset(names("operation that ends a resource"))


def is_preview(document: Mapping[str, Any]) -> bool:
    """Whether a document is what `pulumi preview --json` printed."""
    return is_list(document.get("steps")) and (
        "changeSummary" in document or "config" in document or "duration" in document
    )


def is_state(document: Mapping[str, Any]) -> bool:
    """Whether a document is what `pulumi stack export` printed."""
    return is_list(inside(document, "deployment.resources"))


def facts_of_preview(document: Mapping[str, Any], path: str) -> Iterator[Any]:
    """The facts of every resource that will exist, as far as the preview shows it."""
    for step in items(document.get("steps")):
        if str(inside(step, "op")) in _GONE:
            continue
        yield from _resource(inside(step, "newState"), path)


def facts_of_state(document: Mapping[str, Any], path: str) -> Iterator[Any]:
    """The facts of every recorded resource, from its inputs as a resource policy sees them."""
    for resource in items(inside(document, "deployment.resources")):
        if inside(resource, "delete") is True or inside(resource, "external") is True:
            continue
        yield from _resource(resource, path)


def _resource(state: Any, path: str) -> Iterator[Any]:
    kind, urn = inside(state, "type"), inside(state, "urn")
    if not isinstance(kind, str) or not isinstance(urn, str) or not is_validated(kind):
        return
    inputs = opened(plain(inside(state, "inputs")))
    if is_mapping(inputs):
        name = urn.rpartition("::")[2]
        own = {key: value for key, value in inputs.items() if not key.startswith("__")}
        yield from facts_of_properties(kind, own, name, urn, path)


def opened(value: Any) -> Any:
    """Plain data with UNKNOWN in place of secrets: nothing of them is ever read or quoted."""
    return without(value, lambda one: SIGNATURE in one if is_mapping(one) else one == _HIDDEN)
