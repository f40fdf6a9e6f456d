"""YAML and JSON text as plain data with line numbers: fast, and bounded against any input.

Scalars read as Kubernetes tools read them (`gpufleet.documents.reading`). Nodes come from
libyaml and are turned into data in one walk, three times as fast as PyYAML's own loaders; the nodes
stay, so that the line of any field can be told when a finding needs it. What a template tool would
still fill in (`{{ ... }}`) reads as UNKNOWN.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from gpufleet.documents.go_scalars import PLAIN, UnreadableTextError, as_text
from gpufleet_policies.facts.tristate import UNKNOWN
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.readers.template_text import FILLED_IN_KEY, without_templates
from gpufleet_policies.readers.yaml_document import (
    MAX_BYTES,
    MAX_JSON_BYTES,
    STR,
    Document,
    scalar_value,
)

MAX_DEPTH = 100
"""Deepest nesting that is read: no manifest has a third of it."""
MAX_VALUES = 1_000_000
"""Most values one document may stand for once its aliases are written out."""
_SAFE_NESTING = 2_000
"""Nesting that libyaml's recursion takes without harm; far more ends the process."""

_Base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_ScalarNode: Any = yaml.ScalarNode
_MappingNode: Any = yaml.MappingNode
_PREFIX = re.compile(r"^[ \t?\-]+", re.MULTILINE)


class _Nodes(_Base):
    """Builds nodes that only tell plain scalars from quoted ones; nothing is resolved yet."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        return PLAIN if kind is _ScalarNode and implicit[0] else STR

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Paths choose no tags here."""

    def ascend_resolver(self) -> None:
        """Paths choose no tags here."""


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a node of libyaml's is written."""

    node: Any

    def child(self, step: str | int) -> "tuple[int, NodePlace] | None":
        """Line and place of a part of it; None where that is not written."""
        node = self.node
        if type(node) is _MappingNode:
            for key, value in reversed(node.value):
                if type(key) is _ScalarNode and key.value == str(step):
                    return key.start_mark.line + 1, NodePlace(value)
        elif type(node) is yaml.SequenceNode and isinstance(step, int) and step < len(node.value):
            item = node.value[step]
            return item.start_mark.line + 1, NodePlace(item)
        return None


def read_documents(text: str | bytes, *, is_json: bool = False) -> list[Document]:
    """Every document of a text that holds anything. Raises as `each_document` does."""
    return list(each_document(text, is_json=is_json))


def each_document(text: str | bytes, *, is_json: bool = False) -> Iterator[Document]:
    """Every document of a text that holds anything, up to the first that cannot be read.

    `is_json` chooses the reader for JSON, which tells no lines. Raises UnreadableTextError, with
    the line where it has one, for text that is no UTF-8, beyond the limits above, or malformed.
    """
    size = len(text)
    limit = MAX_JSON_BYTES if is_json else MAX_BYTES
    if size > limit:
        raise UnreadableTextError(f"{size} bytes are more than the limit of {limit >> 20} MiB")
    decoded = _decoded(text)
    if is_json:
        yield from _json(decoded)
        return
    is_template = "{{" in decoded
    if is_template:
        decoded = without_templates(decoded)
    yield from _documents(decoded, is_template)


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UnreadableTextError(f"byte {problem.start}: this is not UTF-8 text") from None


def _json(text: str) -> list[Document]:
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise UnreadableTextError(f"no JSON: {problem}") from None
    except RecursionError:
        raise UnreadableTextError(f"nested deeper than {MAX_DEPTH} levels") from None
    return [Document(_marked(data, 0), 1)] if data is not None else []


def _marked(value: Any, depth: int) -> Any:
    """JSON data with UNKNOWN for the engine's sentinels; bounded in depth."""
    kind = type(value)
    if kind is str:
        return UNKNOWN if value in SENTINELS else value
    if kind is float and not math.isfinite(value):
        return UNKNOWN
    if kind is not dict and kind is not list:
        return value
    if depth >= MAX_DEPTH:
        raise UnreadableTextError(f"nested deeper than {MAX_DEPTH} levels")
    if kind is dict:
        return {key: _marked(item, depth + 1) for key, item in value.items()}
    return [_marked(item, depth + 1) for item in value]


def _documents(text: str, is_template: bool) -> Iterator[Document]:
    try:
        _check_nesting(text)
        reader: Any = _Nodes(text)
        while reader.check_node():
            node = reader.get_node()
            data = _Building().value(node, 0)
            if data is not None:
                yield Document(data, node.start_mark.line + 1, is_template, NodePlace(node))
    except yaml.YAMLError as problem:
        raise UnreadableTextError(_words(problem)) from None
    except (RecursionError, ValueError) as problem:
        raise UnreadableTextError(str(problem) or "nested too deep") from None


def _check_nesting(text: str) -> None:
    """Refuse what would end the process in libyaml's recursion, by events where it could."""
    widest = max(map(len, _PREFIX.findall(text)), default=0)
    if text.count("[") + text.count("{") + widest < _SAFE_NESTING:
        return
    depth = 0
    reader: Any = _Nodes(text)
    while True:
        event = reader.get_event()
        if event is None or isinstance(event, yaml.StreamEndEvent):
            return
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1
                raise UnreadableTextError(f"line {line}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Building:
    """Nodes to data, counting what aliases stand for."""

    __slots__ = ("open", "values")

    def __init__(self) -> None:
        self.values = 0
        self.open: set[int] = set()

    def value(self, node: Any, depth: int) -> Any:
        kind = type(node)
        if kind is _ScalarNode:
            return scalar_value(node.tag, node.value, node.start_mark.line + 1)
        self.values += len(node.value)
        line = node.start_mark.line + 1
        if self.values > MAX_VALUES:
            raise UnreadableTextError(
                f"line {line}: its aliases stand for more than {MAX_VALUES} values"
            )
        if depth >= MAX_DEPTH:
            raise UnreadableTextError(f"line {line}: nested deeper than {MAX_DEPTH} levels")
        if id(node) in self.open:
            raise UnreadableTextError(f"line {line}: an alias contains itself")
        self.open.add(id(node))
        if kind is _MappingNode:
            built: Any = self._mapping(node, depth + 1)
        else:
            built = [self.value(item, depth + 1) for item in node.value]
        self.open.discard(id(node))
        return built

    def _mapping(self, node: Any, depth: int) -> Any:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key == "<<" and key_node.tag == PLAIN:
                merged = {**self._merged(value_node, depth), **merged}
            else:
                found[key] = self.value(value_node, depth)
        if FILLED_IN_KEY in found:
            return UNKNOWN
        return {**merged, **found} if merged else found

    def _merged(self, node: Any, depth: int) -> dict[str, Any]:
        nodes = [node] if type(node) is _MappingNode else node.value
        found: dict[str, Any] = {}
        for one in nodes if isinstance(nodes, list) else ():
            value = self.value(one, depth) if type(one) is _MappingNode else None
            if not isinstance(value, dict):
                line = node.start_mark.line + 1
                raise UnreadableTextError(f"line {line}: only mappings can be merged with `<<`")
            found = {**value, **found}
        return found


def _key(node: Any) -> str:
    if type(node) is not _ScalarNode:
        line = node.start_mark.line + 1
        raise UnreadableTextError(f"line {line}: a list or mapping cannot be a key")
    if node.tag == STR:
        return node.value
    key = scalar_value(node.tag, node.value, node.start_mark.line + 1)
    if isinstance(key, str):
        return key
    return node.value if key is None or key is UNKNOWN else as_text(key)


def _words(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    said = getattr(problem, "problem", None) or str(problem).partition('\n  in "<')[0]
    return place + str(said).replace("\n", " ")
