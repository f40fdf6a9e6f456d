"""From text to plain data: YAML or JSON, a bare FleetSpec or a Pulumi stack file.

Reading is bounded: size, depth and the growth that YAML aliases can cause are limited before
anything is built, so that no document can hold up or exhaust the reader.
"""

from collections.abc import Hashable
from typing import Any, cast

import yaml

MAX_BYTES = 1 << 20
"""Largest document that is read, 1 MiB: about fifty times a fleet of a thousand pools is not."""
MAX_DEPTH = 40
"""Deepest nesting that is read. A FleetSpec needs nine."""
MAX_NODES = 200_000
"""Most values a document may stand for once its aliases are expanded."""

_yaml: Any = yaml  # PyYAML's type stubs leave most of what is used here unknown
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableDocumentError(ValueError):
    """The text is not one bounded YAML or JSON mapping; the message says where and why."""


class _StrictLoader(_Loader):
    """Refuses a key that is written twice: YAML would silently keep the last one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = cast("Hashable", self.construct_object(key_node, deep=True))
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                written = f" {key_node.value!r}" if isinstance(key_node.value, str) else ""
                raise UnreadableDocumentError(
                    f"line {line}: the key{written} is read as {_kind(key)}, not as text: "
                    "put it in quotes"
                )
            if key in seen:
                raise UnreadableDocumentError(f"line {line}: the key {key!r} is written twice")
            seen.add(key)
        parent: Any = super()
        return cast("dict[Hashable, Any]", parent.construct_mapping(node, deep=deep))


def _expanded_nodes(node: yaml.Node, depth: int, known: dict[int, int]) -> int:
    """Values the node stands for with every alias written out."""
    if depth > MAX_DEPTH:
        raise UnreadableDocumentError(
            f"line {node.start_mark.line + 1}: nested deeper than {MAX_DEPTH} levels"
        )
    if id(node) in known:
        return known[id(node)]
    count = 1
    if isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            count += _expanded_nodes(key, depth + 1, known)
            count += _expanded_nodes(value, depth + 1, known)
    elif isinstance(node, yaml.SequenceNode):
        for item in cast("list[yaml.Node]", node.value):
            count += _expanded_nodes(item, depth + 1, known)
    known[id(node)] = count
    return count


def _check_depth(text: str) -> None:
    """Refuse deep nesting from the event stream, before any recursive code sees the document."""
    depth = 0
    for event in _yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise UnreadableDocumentError(
                    f"line {event.start_mark.line + 1}: nested deeper than {MAX_DEPTH} levels"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _yaml_problem(problem: yaml.YAMLError, text: str) -> str:
    mark: Any = getattr(problem, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    said = str(getattr(problem, "problem", None) or problem).replace("\n", " ")
    lines = text.splitlines()
    line = lines[int(mark.line)] if mark and mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return f"{place}a tab stands where YAML wants spaces: indent with spaces"
    if "another document" in said:
        return f"{place}a second document starts here: one FleetSpec per file"
    return f"{place}{said}"


def read_document(text: str | bytes) -> dict[str, Any]:
    """Plain data of one YAML or JSON mapping.

    Raises UnreadableDocumentError for text that is no UTF-8, empty, larger than `MAX_BYTES`, nested
    deeper than `MAX_DEPTH`, grown by aliases beyond `MAX_NODES`, not a mapping, or malformed.
    """
    size = len(text) if isinstance(text, bytes) else len(text.encode(errors="surrogateescape"))
    if size > MAX_BYTES:
        raise UnreadableDocumentError(
            f"{size} bytes are more than the limit of {MAX_BYTES} (1 MiB)"
        )
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise UnreadableDocumentError(f"byte {problem.start}: this is not UTF-8 text") from None
    try:
        _check_depth(text)
        node = _yaml.compose(text, Loader=_Loader)
        if node is None:
            raise UnreadableDocumentError("the document is empty")
        if _expanded_nodes(node, 0, {}) > MAX_NODES:
            raise UnreadableDocumentError(
                f"its aliases stand for more than {MAX_NODES} values: write it without aliases"
            )
        data = _yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as problem:
        raise UnreadableDocumentError(_yaml_problem(problem, text)) from None
    except ValueError as problem:
        if isinstance(problem, UnreadableDocumentError):
            raise
        # Python's own words on long numbers are advice to its programmers.
        said = "a number has thousands of digits" if "digits" in str(problem) else str(problem)
        raise UnreadableDocumentError(f"a value cannot be read: {said}") from None
    if not isinstance(data, dict):
        raise UnreadableDocumentError(
            f"the document is {_kind(data)}, not a mapping: a FleetSpec starts with keys such as "
            "`platform:` and `pools:`"
        )
    return cast("dict[str, Any]", data)


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


def _kind(data: object) -> str:
    """What a value is, in the words of YAML rather than of Python."""
    name = type(data).__name__
    return _KINDS.get(name, f"a {name}")


def fleet_part(document: dict[str, Any]) -> dict[str, Any]:
    """The FleetSpec in a document: `config.gpufleet:fleet` of a stack file, else all of it.

    Raises UnreadableDocumentError when a stack file has no such entry, or it is encrypted.
    """
    config: object = document.get("config")
    if not isinstance(config, dict) or "pools" in document:
        return document
    entries = cast("dict[str, Any]", config)
    fleet: object = entries.get("gpufleet:fleet")
    if fleet is None:
        raise UnreadableDocumentError("this stack file has no `config: gpufleet:fleet:` entry")
    if not isinstance(fleet, dict):
        raise UnreadableDocumentError("`config: gpufleet:fleet:` is not a mapping")
    found = cast("dict[str, Any]", fleet)
    if set(found) == {"secure"}:
        raise UnreadableDocumentError(
            "`config: gpufleet:fleet:` is encrypted: a FleetSpec holds no secrets, write it plainly"
        )
    return found
