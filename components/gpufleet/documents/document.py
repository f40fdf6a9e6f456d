"""One document of a text, with the line of everything in it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet.documents.limits import CONFIGURATION, UnreadableDocumentError
from gpufleet.documents.nodes import (
    MappingNode,
    ScalarNode,
    SequenceNode,
    line_of,
    open_reader,
    readable,
)


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text."""

    data: Any
    """Plain data; every mapping has text keys."""
    line: int = 1
    """Line it starts in, from 1."""
    node: Any = field(default=None, repr=False, compare=False)
    """The node of libyaml that it was read from; None: no lines are known, as for JSON."""
    is_template: bool = False
    """Whether a template tool fills in any of it."""
    above: int = 0
    """Lines of the whole text above the piece that it was read from."""
    piece: str = field(default="", repr=False, compare=False)
    """The text that it was read from and the text after it; empty: unknown."""

    def written(self) -> str:
        """Its text, with the documents that follow it; empty where that is not known."""
        lines = self.piece.split("\n")
        return "\n".join(lines[max(self.line - self.above, 1) - 1 :])

    def comment(self) -> str:
        """The comment directly above it; empty: no comment."""
        lines = self.piece.split("\n")[: max(self.line - self.above, 1) - 1]
        first = len(lines)
        while first and lines[first - 1].startswith("#"):
            first -= 1
        return "\n".join(lines[first:])

    def member(self, steps: Sequence[str | int], data: Any) -> "Document":
        """A part of it as a separate document."""
        depth, line, node = _followed(self, steps)
        known = node if depth == len(steps) else None
        return Document(data, line, known, self.is_template, self.above)

    def line_of(self, steps: Sequence[str | int]) -> int:
        """The line of a field, or of the nearest thing above it that is written."""
        return self.located(steps)[1]

    def located(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """How many steps of a path are written, and the line of the last of them."""
        return _followed(self, steps)[:2]


@dataclass(frozen=True, slots=True)
class GoDocument(Document):
    """The document that NVIDIA's programs see in a text: the first one."""

    repeated: tuple[str, ...] = ()
    """Paths of keys that are written more than once: all but the last are dropped."""
    more_documents: bool = False
    """Whether a second document follows, which the programs do not read."""
    text: str | None = None
    """The text itself, for documents that must be JSON."""


def _followed(document: Document, steps: Sequence[str | int]) -> tuple[int, int, Any]:
    """How many steps are written, the line of the last of them, and its node.

    Steps continue into the text of a value, if that text is a document.
    """
    node, line = document.node, document.line
    for depth, step in enumerate(steps):
        if type(node) is ScalarNode:
            inside, above = located_in_text(node.value, steps[depth:])
            below = document.above + lines_of_text(node) + above
            return depth + inside, below if inside else line, None
        entry = None if node is None else _entry(node, step)
        if entry is None:
            return depth, line, node
        line, node = line_of(entry[0]) + document.above, entry[1]
    return len(steps), line, node


def lines_of_text(node: Any) -> int:
    """Number of lines above the first line of the text of a scalar."""
    return line_of(node) if node.style in ("|", ">") else line_of(node) - 1


def located_in_text(text: str, steps: Sequence[str | int]) -> tuple[int, int]:
    """How many steps of a path are written in a text of YAML, and the line of the last in it."""
    if "\n" not in text:
        return 0, 1  # a word, or a document on one line
    try:
        with readable():
            reader = open_reader(CONFIGURATION.decoded(text), CONFIGURATION)
            node = reader.get_node() if reader.check_node() else None
    except UnreadableDocumentError:
        return 0, 1
    depth, line, _ = _followed(Document(None, 1, node), steps)
    return depth, line


def _entry(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Key node and value node of the last entry of that name; an item of a list twice."""
    if type(node) is MappingNode:
        for key, value in reversed(node.value):
            if type(key) is ScalarNode and key.value == str(step):
                return key, value
    elif type(node) is SequenceNode and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
