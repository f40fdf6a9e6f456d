"""Large texts of YAML in pieces that can be read one after the other: documents, items of a List.

The nodes of libyaml take about fifty times their text, so a dump of a cluster is never read whole.
Only texts that need it are taken apart, by their lines: between documents, and between the items of
a List in the form in which `kubectl get -o yaml` writes it, with `items:` and its dashes at the
beginning of a line. No scalar can have such lines inside of it (YAML 1.2, chapter 8: content of an
entry is indented).
"""

import re
from collections.abc import Iterable, Iterator

from gpufleet.documents.limits import MANIFESTS

Piece = tuple[str, int]
"""A text, and how many lines of the whole are above its first line; below zero for added lines."""

_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_ITEMS = re.compile(r"^items:[ \t]*(?:#.*)?\n", re.MULTILINE)
_KIND = re.compile(r"^kind:[ \t]*([A-Za-z]*List)[ \t]*$", re.MULTILINE)
_END = re.compile(r"^(?![-\s#])", re.MULTILINE)
_ITEM = re.compile(r"^-(?=\s)", re.MULTILINE)


def pieces(text: str) -> Iterator[Piece]:
    """The text, or pieces of at most the size that is read at a time.

    Raises UnreadableDocumentError for a document beyond it that is not a List.
    """
    if len(text) <= MANIFESTS.size:
        yield text, 0
        return
    starts = [0, *(found.start() for found in _MARKER.finditer(text) if found.start())]
    for piece, above in _grouped(text, starts, len(text)):
        if len(piece) <= MANIFESTS.size:
            yield piece, above
        else:
            yield from _items(piece, above)


def _grouped(text: str, starts: Iterable[int], end: int) -> Iterator[Piece]:
    """Neighbours together while they are small, each group with the lines above it."""
    marks = [*starts, end]
    first = marks[0]
    above = text.count("\n", 0, first)
    for here, after in zip(marks[1:], [*marks[2:], end], strict=True):
        if here != end and after - first <= MANIFESTS.size:
            continue
        yield text[first:here], above
        above += text.count("\n", first, here)
        first = here


def _items(text: str, above: int) -> Iterator[Piece]:
    """The items of a List, several at a time, each time as a List."""
    head, kind = _ITEMS.search(text), _KIND.search(text)
    if head is None or kind is None:
        MANIFESTS.check_size(len(text))
        return
    tail = _END.search(text, head.end())
    end = len(text) if tail is None else tail.start()
    starts = [found.start() for found in _ITEM.finditer(text, head.end(), end)]
    for items, lines in _grouped(text, starts, end) if starts else ():
        MANIFESTS.check_size(len(items))
        yield f"kind: {kind[1]}\nitems:\n{items}", above + lines - 2
