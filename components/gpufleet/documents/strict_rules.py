"""Additional checks of the strict mode: no YAML 1.1 scalars, and keys are unique texts."""

from typing import Any

import yaml

from gpufleet.documents.go_scalars import PLAIN, STR, TAG
from gpufleet.documents.limits import UnreadableDocumentError, fault
from gpufleet.documents.nodes import MappingNode, ScalarNode, is_merge, line_of

_yaml: Any = yaml  # PyYAML's type stubs leave most names used here unknown
_RESOLVER: Any = _yaml.resolver.Resolver()
_CONSTRUCTOR: Any = _yaml.constructor.SafeConstructor()
_COLLECTIONS = {"map", "seq", "set", "omap", "pairs"}
_KINDS = {
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "a truth value",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
    "NoneType": "empty",
    "date": "a date",
    "datetime": "a date",
}


def kind_in_yaml(data: object) -> str:
    """Type name of a value in YAML's terms."""
    name = type(data).__name__
    return _KINDS.get(name, f"a {name}")


def strict_scalar(tag: str, text: str) -> Any:
    """The value of a scalar as PyYAML's safe loader reads it; dates become dates.

    Raises UnreadableDocumentError.
    """
    if tag == PLAIN:
        tag = _RESOLVER.resolve(ScalarNode, text, (True, False))
    if tag == STR:
        return text
    construct = _CONSTRUCTOR.yaml_constructors.get(tag)
    if construct is None or tag.removeprefix(TAG) in _COLLECTIONS:
        raise _unknown(tag)
    try:
        return construct(_CONSTRUCTOR, ScalarNode(tag, text))
    except (ValueError, yaml.YAMLError) as problem:
        raise UnreadableDocumentError(f"a value cannot be read: {fault(problem)}") from None


def check_strictly(node: Any) -> None:
    """Refuse keys that are not text or are written twice; merge keys come first in a mapping.

    So a mapping's own keys have precedence over merged keys. Raises
    UnreadableDocumentError with the line.
    """
    expected = "map" if type(node) is MappingNode else "seq"
    if node.tag not in (PLAIN, TAG + expected):
        raise UnreadableDocumentError(f"line {line_of(node)}: {_unknown(node.tag)}")
    if type(node) is not MappingNode:
        return
    node.value.sort(key=_is_written_itself)
    seen: set[str] = set()
    for key_node, _ in node.value:
        if is_merge(key_node):
            continue
        key = _key(key_node)
        if key in seen:
            raise UnreadableDocumentError(
                f"line {line_of(key_node)}: the key {key!r} is written twice"
            )
        seen.add(key)


def _is_written_itself(entry: tuple[Any, Any]) -> bool:
    return not is_merge(entry[0])


def _key(node: Any) -> str:
    key: Any = [] if type(node) is not MappingNode else {}
    written = ""
    if type(node) is ScalarNode:
        written = f" {node.value!r}"
        try:
            key = strict_scalar(node.tag, node.value)
        except UnreadableDocumentError as problem:
            raise UnreadableDocumentError(f"line {line_of(node)}: {problem}") from None
    if isinstance(key, str):
        return key
    raise UnreadableDocumentError(
        f"line {line_of(node)}: the key{written} is read as {kind_in_yaml(key)}, not as text: "
        "put it in quotes"
    )


def _unknown(tag: str) -> UnreadableDocumentError:
    return UnreadableDocumentError(f"could not determine a constructor for the tag {tag!r}")
