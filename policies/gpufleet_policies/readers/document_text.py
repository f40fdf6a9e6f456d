"""Text of manifests and JSON as documents, with UNKNOWN for what is not known yet.

Placeholders of the Pulumi engine, what a template tool would still fill in (`{{ ... }}`) and
numbers that are not finite read as UNKNOWN.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.documents.building import DataBuilder
from gpufleet.documents.document import Document
from gpufleet.documents.go_scalars import go_scalar
from gpufleet.documents.limits import MANIFESTS, YAML_DUMPS
from gpufleet.documents.pieces import pieces
from gpufleet.documents.reading import read_json, read_manifests
from gpufleet.documents.shapes import is_mapping, rewritten
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.readers.template_text import FILLED_IN, FILLED_IN_KEY, without_templates


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
    for document in read_manifests(without_templates(text), _scalar, above):
        data = document.data
        if is_mapping(data) and str(data.get("kind")) in _TEXT_HOLDERS:
            # Text of values in which one value is filled in has all other values.
            data = DataBuilder(MANIFESTS, _scalar_or_lines, null_keys=True).data(document.node)
        yield replace(document, data=_filled_in(data), is_template=True)


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
    return rewritten(
        value, lambda one: UNKNOWN if is_mapping(one) and FILLED_IN_KEY in one else one
    )
