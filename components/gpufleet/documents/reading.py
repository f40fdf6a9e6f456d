"""YAML the way NVIDIA's Go programs read it: sigs.k8s.io/yaml turns it into JSON first.

That reader differs from PyYAML and from a strict one: `yes`, `on` and `y` are booleans, `0o17` is a
number, `12:30` is text, keys of any type become text, a key written twice keeps its last value, and
only the first document of a stream counts. Sources: go.yaml.in/yaml/v2 v2.4.3 `resolve.go` and
`decode.go`, sigs.k8s.io/yaml v1.6.0 `yaml.go`. The size, depth and growth of what is read are
limited as for every other document (`gpufleet.spec.document`).
"""

from dataclasses import dataclass
from typing import Any

import yaml

from gpufleet.documents.go_scalars import (
    PLAIN,
    TAG,
    UnreadableTextError,
    as_text,
    scalar,
)
from gpufleet.documents.paths import child
from gpufleet.spec.document import MAX_BYTES, MAX_DEPTH, MAX_NODES

_yaml: Any = yaml  # PyYAML's type stubs leave most of what is used here unknown
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Read:
    """One document as NVIDIA's programs see it."""

    data: Any
    """Plain JSON data; every mapping has text keys. None for an empty document."""
    repeated: tuple[str, ...] = ()
    """Paths of keys that are written more than once: all but the last are dropped."""
    more_documents: bool = False
    """Whether a second document follows, which nobody reads."""
    empty: bool = False
    """Whether the text holds nothing but white space and comments."""
    text: str | None = None
    """The text itself, for documents that must be JSON."""


class _Loader(_Base):
    """Builds nodes that still tell plain scalars from quoted ones: nothing is resolved yet."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else TAG + "str"
        return TAG + ("seq" if kind is yaml.SequenceNode else "map")


def read_yaml(text: str | bytes) -> Read:
    """Read the first document of a YAML or JSON text.

    Raises UnreadableTextError, with the line, for text that is no UTF-8, larger than `MAX_BYTES`,
    nested deeper than `MAX_DEPTH`, grown by aliases beyond `MAX_NODES`, or malformed.
    """
    decoded = _decode(text)
    try:
        _check_depth(decoded)
        loader: Any = _Loader(decoded)
        try:
            if not loader.check_node():
                return Read(None, empty=True, text=decoded)
            node = loader.get_node()
            more = _follows(loader)
        finally:
            loader.dispose()
    except yaml.YAMLError as problem:
        raise UnreadableTextError(_yaml_problem(problem)) from None
    reading = _Reading()
    data = reading.value(node, "")
    return Read(data, tuple(dict.fromkeys(reading.repeated)), more, text=decoded)


def read_stream(text: str | bytes) -> tuple[Read, ...]:
    """Read every document of a YAML text, as `kubectl` does; empty ones are left out.

    Raises UnreadableTextError as `read_yaml`.
    """
    decoded = _decode(text)
    found: list[Read] = []
    reading = _Reading()
    try:
        _check_depth(decoded, whole=True)
        loader: Any = _Loader(decoded)
        try:
            while loader.check_node():
                data = reading.value(loader.get_node(), "")
                if data is not None:
                    found.append(Read(data))
        finally:
            loader.dispose()
    except yaml.YAMLError as problem:
        raise UnreadableTextError(_yaml_problem(problem)) from None
    return tuple(found)


def _decode(text: str | bytes) -> str:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", errors="surrogateescape")
    if len(raw) > MAX_BYTES:
        limit = f"{len(raw)} bytes are more than the limit of {MAX_BYTES} (1 MiB)"
        raise UnreadableTextError(limit)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UnreadableTextError(f"byte {problem.start}: this is not UTF-8 text") from None


def _check_depth(text: str, *, whole: bool = False) -> None:
    depth = 0
    for event in _yaml.parse(text, Loader=_Base):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                line = event.start_mark.line + 1
                raise UnreadableTextError(f"line {line}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentEndEvent) and not whole:
            return


def _follows(loader: Any) -> bool:
    """Whether anything comes after the first document; what it is does not matter."""
    try:
        return bool(loader.check_node())
    except yaml.YAMLError:
        return True


def _yaml_problem(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return place + str(getattr(problem, "problem", None) or problem).replace("\n", " ")


@dataclass(slots=True)
class _Reading:
    """Turns nodes into data. Counts what aliases expand to."""

    repeated: list[str]
    nodes: int
    open: list[int]

    def __init__(self) -> None:
        self.repeated, self.nodes, self.open = [], 0, []

    def value(self, node: Any, path: str) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise UnreadableTextError(f"its aliases stand for more than {MAX_NODES} values")
        if isinstance(node, yaml.ScalarNode):
            return scalar(node.tag, str(node.value), node.start_mark.line + 1)
        if id(node) in self.open:
            raise UnreadableTextError(f"line {node.start_mark.line + 1}: an alias contains itself")
        self.open.append(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(n, child(path, i)) for i, n in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self.open.pop()

    def _mapping(self, node: Any, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        written: set[str] = set()
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                found.update(self._merged(value_node, path))
                continue
            key = self._key(key_node)
            if key in written:
                self.repeated.append(child(path, key))
            written.add(key)
            found[key] = self.value(value_node, child(path, key))
        return found

    def _merged(self, node: Any, path: str) -> dict[str, Any]:
        nodes: list[Any] = [node] if isinstance(node, yaml.MappingNode) else list(node.value)
        if not all(isinstance(one, yaml.MappingNode) for one in nodes):
            line = node.start_mark.line + 1
            raise UnreadableTextError(f"line {line}: only mappings can be merged with `<<`")
        found: dict[str, Any] = {}
        for one in reversed(nodes):
            found.update(self.value(one, path))
        return found

    def _key(self, node: Any) -> str:
        line = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode):
            raise UnreadableTextError(f"line {line}: a list or mapping cannot be a key")
        key = scalar(node.tag, str(node.value), line)
        if key is None:
            raise UnreadableTextError(f"line {line}: null cannot be a key")
        return key if isinstance(key, str) else as_text(key)


def _is_merge(node: Any) -> bool:
    return (
        isinstance(node, yaml.ScalarNode)
        and node.value == "<<"
        and node.tag in (PLAIN, TAG + "merge")
    )
