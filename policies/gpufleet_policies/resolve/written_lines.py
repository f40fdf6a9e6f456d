"""The lines of a document without the document: small enough to be sent to another process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpufleet.documents.document import Document, lines_of_text, located_in_text
from gpufleet.documents.nodes import MappingNode, ScalarNode, SequenceNode


class Located(Protocol):
    """An object with the lines of its fields."""

    @property
    def line(self) -> int:
        """Line it starts in, from 1."""
        ...

    def located(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """Number of written steps of a path, and the line of the last of them."""
        ...


Text = tuple[int, str]
"""Lines above a text of several lines, and the text."""
Entries = dict[str | int, tuple[int, "Entries | Text"]]
"""Line and content of each entry, by key of a mapping or by index of a list.

Tuples: a document has hundreds, and they are sent several times as fast as objects of a class.
"""


@dataclass(frozen=True, slots=True)
class WrittenLines:
    """The line of a document, and those of what is in it."""

    line: int
    entries: Entries

    def located(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """Number of written steps of a path, and the line of the last of them."""
        line = self.line
        entries: Entries | Text = self.entries
        for depth, step in enumerate(steps):
            if isinstance(entries, tuple):
                above, text = entries
                inside, below = located_in_text(text, steps[depth:])
                return depth + inside, above + below if inside else line
            entry = entries.get(step) or entries.get(str(step))
            if entry is None:
                return depth, line
            line, entries = entry
        return len(steps), line


def written_lines(document: Located) -> WrittenLines:
    """The lines of everything in a document that is written as such, not merged or filled in."""
    if not isinstance(document, Document) or document.node is None:
        return WrittenLines(document.line, {})
    entries = _entries(document.node, document.data, document.above)
    return WrittenLines(document.line, entries if isinstance(entries, dict) else {})


_NOTHING: Entries = {}
_kind_of: Callable[[Any], object] = type


def _entries(node: Any, value: Any, above: int) -> Entries | Text:
    """The value of a node; None for a value that no node of its shape holds."""
    kind = _kind_of(value)
    if kind is str:
        text = "\n" in value and type(node) is ScalarNode
        return (above + lines_of_text(node), value) if text else _NOTHING
    if kind is dict and type(node) is MappingNode:
        return {
            key.value: (key.start_mark.line + 1 + above, _entries(at, value[key.value], above))
            for key, at in node.value
            if type(key) is ScalarNode and key.value in value
        }
    if kind is list and type(node) is SequenceNode:
        return {
            index: (at.start_mark.line + 1 + above, _entries(at, item, above))
            for index, (at, item) in enumerate(zip(node.value, value, strict=False))
        }
    return _NOTHING
