"""The one reader of YAML and JSON, in three modes that differ where real programs differ.

| mode | scalars | keys | documents | limits |
|---|---|---|---|---|
| strict (FleetSpecs, settings, prices) | YAML 1.1 | text, written once | one | CONFIGURATION |
| Go (configuration of NVIDIA's programs) | Go | the last one counts | the first | CONFIGURATION |
| Kubernetes (manifests, charts) | Go | the last one counts | every one | MANIFESTS |

NVIDIA's programs and the tools of Kubernetes read YAML through sigs.k8s.io/yaml, which turns it
into JSON first. It differs from PyYAML: `yes`, `on` and `y` are booleans, `0o17` is a number,
`12:30` is text, and keys of any type become text. Sources: go.yaml.in/yaml/v2 v2.4.3 `resolve.go`
and `decode.go`, sigs.k8s.io/yaml v1.6.0 `yaml.go`.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

from gpufleet.documents.building import DataBuilder, Scalar
from gpufleet.documents.document import Document, GoDocument
from gpufleet.documents.go_scalars import go_scalar
from gpufleet.documents.limits import (
    CONFIGURATION,
    JSON_DUMPS,
    MANIFESTS,
    UnreadableDocumentError,
    fault,
)
from gpufleet.documents.nodes import (
    MappingNode,
    ScalarNode,
    SequenceNode,
    as_reported,
    is_merge,
    line_of,
    open_reader,
    readable,
)
from gpufleet.documents.paths import child
from gpufleet.documents.strict_rules import check_strictly, strict_scalar


def read_strict(text: str | bytes, holds: str = "document") -> Document:
    """The one document of a text; its data is None for an empty text.

    `holds` is the noun of what the file holds, for the message about a second document. Raises
    UnreadableDocumentError, also for a key that is not text or is written twice.
    """
    decoded = CONFIGURATION.decoded(text)

    def explain(problem: str, mark: Any) -> str:
        lines = decoded.splitlines()
        line = lines[int(mark.line)] if mark and mark.line < len(lines) else ""
        if "\t" in line[: len(line) - len(line.lstrip())]:
            return "a tab is not allowed here in YAML: indent with spaces"
        if "another document" in problem:
            return f"a second document starts here: one {holds} per file"
        if any(one.lstrip().startswith(("//", "/*")) for one in lines):
            return (
                "`//` and `/*` begin no comment in JSON and YAML: remove them, or write `#` in YAML"
            )
        return as_reported(problem, mark)

    with readable(explain):
        node = open_reader(decoded, CONFIGURATION).get_single_node()
    if node is None:
        return Document(None)
    builder = DataBuilder(CONFIGURATION, strict_scalar, check=check_strictly)
    return Document(builder.data(node), line_of(node), node)


def read_go(text: str | bytes) -> GoDocument:
    """The first document of a text. Raises UnreadableDocumentError."""
    decoded = CONFIGURATION.decoded(text)
    nodes = _nodes(decoded)
    node = next(nodes, None)
    if node is None:
        return GoDocument(None, text=decoded)
    try:
        more = next(nodes, None) is not None
    except UnreadableDocumentError:
        more = True
    builder = DataBuilder(CONFIGURATION, go_scalar)
    data = builder.data(node)
    repeated = tuple(dict.fromkeys(_repeated(node, "", builder)))
    return GoDocument(
        data, line_of(node), node, repeated=repeated, more_documents=more, text=decoded
    )


def read_go_stream(text: str | bytes) -> tuple[GoDocument, ...]:
    """Every document of a text; empty ones are left out. Raises UnreadableDocumentError."""
    found = [
        GoDocument(DataBuilder(CONFIGURATION, go_scalar).data(node), line_of(node), node)
        for node in _nodes(CONFIGURATION.decoded(text))
    ]
    return tuple(document for document in found if document.data is not None)


def _nodes(text: str) -> Iterator[Any]:
    with readable():
        reader = open_reader(text, CONFIGURATION)
        while reader.check_node():
            yield reader.get_node()


def repeated_keys(document: Document) -> tuple[str, ...]:
    """Paths of keys that are written more than once: all but the last are dropped."""
    builder = DataBuilder(MANIFESTS, go_scalar, null_keys=True)
    return tuple(dict.fromkeys(_repeated(document.node, "", builder)))


def _repeated(node: Any, path: str, builder: DataBuilder) -> Iterator[str]:
    """Paths of keys that are written twice in a node that was built already."""
    if type(node) is SequenceNode:
        for index, item in enumerate(node.value):
            yield from _repeated(item, child(path, index), builder)
    if type(node) is not MappingNode:
        return
    written: set[str] = set()
    for key_node, value in node.value:
        if is_merge(key_node):
            for one in value.value if type(value) is SequenceNode else [value]:
                yield from _repeated(one, path, builder)
            continue
        key = builder.key(key_node)
        if key in written:
            yield child(path, key)
        written.add(key)
        if type(value) is not ScalarNode:
            yield from _repeated(value, child(path, key), builder)


def read_manifests(
    text: str | bytes, scalar: Scalar = go_scalar, above: int = 0
) -> Iterator[Document]:
    """Every document of a text that is not empty, up to the first that cannot be read.

    `above` is the number of lines above the text, where it is a piece of another.

    `scalar` may give values of its own to words that replace a value. Raises
    UnreadableDocumentError.
    """
    decoded = MANIFESTS.decoded(text)
    with readable():
        reader = open_reader(decoded, MANIFESTS)
        while reader.check_node():
            node = reader.get_node()
            data = DataBuilder(MANIFESTS, scalar, null_keys=True).data(node)
            if data is not None:
                yield Document(data, line_of(node) + above, node, above=above, piece=decoded)


def _itself(value: Any) -> Any:
    return value


def read_json(text: str | bytes, scalar: Callable[[Any], Any] = _itself) -> Any:
    """The data of a JSON text, several times as fast as YAML and without lines.

    `scalar` may replace texts, numbers, booleans and null. Raises UnreadableDocumentError.
    """
    decoded = JSON_DUMPS.decoded(text)
    try:
        data: Any = json.loads(decoded)
    except (ValueError, RecursionError) as problem:
        raise UnreadableDocumentError(f"not valid JSON: {fault(problem)}") from None
    return _json_value(data, scalar, 0)


def _json_value(value: Any, scalar: Callable[[Any], Any], depth: int) -> Any:
    if not isinstance(value, dict | list):
        return scalar(value)
    if depth >= JSON_DUMPS.depth:
        raise UnreadableDocumentError(fault(RecursionError()))
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: _json_value(item, scalar, depth + 1) for key, item in entries.items()}
    return [_json_value(item, scalar, depth + 1) for item in cast("list[Any]", value)]
