"""The lines of a document without the document: small enough to be sent to another process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from gpufleet.documents.document import Document, lines_of_text, located_in_text


class Located(Protocol):
    """Anything that knows the lines of its fields."""

    @property
    def line(self) -> int:
        """Line it starts in, from 1."""
        ...

    def located(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """How many steps of a path are written, and the line of the last of them."""
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
        """How many steps of a path are written, and the line of the last of them."""
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
    return WrittenLines(document.line, _entries(document, (), document.data))


def _entries(document: Document, steps: tuple[str | int, ...], value: Any) -> Entries:
    pairs: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        pairs = [(str(key), item) for key, item in cast("dict[Any, Any]", value).items()]
    elif isinstance(value, list):
        pairs = list(enumerate(cast("list[Any]", value)))
    found: Entries = {}
    for key, item in pairs:
        path = (*steps, key)
        depth, line = document.located(path)
        if depth != len(path):
            continue
        if isinstance(item, str):
            node = document.member(path, item).node
            text = node is not None and "\n" in item
            found[key] = (line, (lines_of_text(node), item) if text else {})
        else:
            found[key] = (line, _entries(document, path, item))
    return found
