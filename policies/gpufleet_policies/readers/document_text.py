"""Text of manifests and JSON as documents, with UNKNOWN for what is not known yet.

Placeholders of the Pulumi engine, what a template tool would still fill in (`{{ ... }}`) and
numbers that are not finite read as UNKNOWN.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.building import DataBuilder
from gpufleet.documents.document import Document
from gpufleet.documents.go_scalars import go_scalar
from gpufleet.documents.limits import MANIFESTS, YAML_DUMPS, UnreadableDocumentError
from gpufleet.documents.pieces import pieces
from gpufleet.documents.reading import read_json, read_manifests
from gpufleet.documents.shapes import is_mapping
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.readers.reading import without

_CONTROL = re.compile(
    r"\{\{-?\s*(?:/\*|if\b|else\b|end\b|range\b|with\b|define\b|template\b|block\b|\$\w+\s*:?=)"
)
_INDENT = re.compile(r"n?indent\s+(\d+)")
FILLED_IN = "gpufleet-template-value"
"""Is in a text for what a template tool fills in."""
FILLED_IN_KEY = "gpufleet-template-lines"


def without_templates(text: str) -> str:
    """A template's text as readable YAML: control lines are removed, expressions become FILLED_IN.

    Line numbers stay. A line that is only an expression fills in whole lines: its parent is read as
    UNKNOWN. Both branches of a condition stay, the later one counts.
    """
    lines = _rewritten(text, _one_line).split("\n")
    return "\n".join(_line(line) for line in lines)


def _expressions(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each expression, up to the first that is not closed.

    A search for the end from every start would take time with the square of the text.
    """
    end = 0
    while (start := text.find("{{", end)) >= 0:
        closed = text.find("}}", start + 2)
        if closed < 0:
            return
        end = closed + 2
        yield start, end


def _rewritten(text: str, write: Callable[[str], str]) -> str:
    """The text with what is written for each expression."""
    parts: list[str] = []
    done = 0
    for start, end in _expressions(text):
        parts += text[done:start], write(text[start:end])
        done = end
    return "".join([*parts, text[done:]])


def _one_line(expression: str) -> str:
    """An expression over several lines, moved to its first; the lines stay as empty ones."""
    return expression.replace("\n", " ") + "\n" * expression.count("\n")


def _line(line: str) -> str:
    if "{{" not in line:
        return line
    if _rewritten(line, lambda _: "").strip():
        return _rewritten(line, lambda one: "" if _CONTROL.match(one) else FILLED_IN)
    expressions = [line[start:end] for start, end in _expressions(line)]
    values = [one for one in expressions if not _CONTROL.match(one)]
    if not values:
        return ""
    indent = _INDENT.search(values[0])
    width = int(indent[1]) if indent else len(line) - len(line.lstrip())
    return f"{' ' * min(width, 200)}{FILLED_IN_KEY}: {FILLED_IN}"


def read_documents(text: str | bytes) -> list[Document]:
    """Every document of a YAML text that holds anything. Raises UnreadableDocumentError."""
    return list(each_document(text))


def each_document(text: str | bytes) -> Iterator[Document]:
    """Every document of a YAML text that holds anything, up to the first that cannot be read.

    Raises UnreadableDocumentError.
    """
    decoded = YAML_DUMPS.decoded(text)
    for piece, above in pieces(decoded):
        yield from _documents(piece, above)


def _documents(text: str, above: int) -> Iterator[Document]:
    if "{{" not in text:
        yield from read_manifests(text, _scalar, above)
        return
    sets = _application_sets(text, above) if "ApplicationSet" in text else {}
    for document in read_manifests(without_templates(text), _scalar, above):
        data = document.data
        if document.line in sets:
            yield sets[document.line]
            continue
        if is_mapping(data) and str(data.get("kind")) in _TEXT_HOLDERS:
            # Text of values in which one value is filled in has all other values.
            data = DataBuilder(MANIFESTS, _scalar_or_lines, null_keys=True).data(document.node)
        yield replace(document, data=_filled_in(data), is_template=True)


def _application_sets(text: str, above: int) -> dict[int, Document]:
    """First line -> an ApplicationSet with its own `{{...}}`, which its generators fill in; none
    where the text is a template of Helm."""
    try:
        found = list(read_manifests(text, _scalar, above))
    except UnreadableDocumentError:
        return {}
    kind = "ApplicationSet"
    return {d.line: d for d in found if is_mapping(d.data) and d.data.get("kind") == kind}


_TEXT_HOLDERS = frozenset({"Application", "ApplicationSet", "HelmChart", "HelmChartConfig"})
"""Kinds that hold values as text."""


def yaml_value(text: str) -> Any:
    """The first document of a text inside a document. Raises UnreadableDocumentError."""
    document = next(each_document(text), None)
    if document is None:
        return None
    return _filled_in(document.data) if FILLED_IN in text else document.data


def _scalar_or_lines(tag: str, text: str) -> Any:
    return text if "\n" in text and FILLED_IN in text else _scalar(tag, text)


def json_documents(text: str | bytes) -> list[Document]:
    """The document of a JSON text, without lines; none for null. Raises UnreadableDocumentError."""
    data = read_json(text, _known)
    return [] if data is None else [Document(data)]


def _scalar(tag: str, text: str) -> Any:
    return _short_scalar(tag, text) if len(text) < _SHORT else _read(tag, text)


_SHORT = 200


@lru_cache(maxsize=20_000)
def _short_scalar(tag: str, text: str) -> Any:
    """Words of manifests repeat: most scalars are read once in a run."""
    return _read(tag, text)


def _read(tag: str, text: str) -> Any:
    if FILLED_IN in text or text in SENTINELS or (tag[:1] == "!" and len(tag) > 1):
        return UNKNOWN  # also `!Ref` and other functions of CloudFormation
    value = go_scalar(tag, text)
    return _known(value) if type(value) is float else value


def _known(value: Any) -> Any:
    if type(value) is str:
        return UNKNOWN if value in SENTINELS else value
    # JSON has no such number, so kubectl cannot send it: a text is refused wherever one is needed.
    return str(value) if type(value) is float and not math.isfinite(value) else value


def _filled_in(value: Any) -> Any:
    """The data of a template, with UNKNOWN for mappings whose entries are filled in as lines."""
    return without(value, lambda one: is_mapping(one) and FILLED_IN_KEY in one)
