"""The objects of a text that holds several: documents of a stream, items of Lists."""

from collections.abc import Iterator
from typing import Any

from gpufleet.documents.document import GoDocument
from gpufleet.documents.paths import child
from gpufleet.documents.reading import read_go_stream
from gpufleet.documents.shapes import as_list, as_mapping

Object = tuple[str, dict[str, Any]]
"""Its path in the text (empty for the only one), and the object."""


def objects(read: GoDocument) -> Iterator[Object]:
    """Every object of every document; the items of Lists."""
    documents = [one.data for one in read_go_stream(read.text)] if read.text else [read.data]
    for number, data in enumerate(documents):
        document = as_mapping(data)
        if document is None:
            continue
        path = child("documents", number) if len(documents) > 1 else ""
        items = as_list(document.get("items"))
        if items is None or not str(document.get("kind", "")).endswith("List"):
            yield path, document
            continue
        for index, entry in enumerate(items):
            item = as_mapping(entry)
            if item is not None:
                yield child(child(path, "items"), index), item
