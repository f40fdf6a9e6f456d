"""Reading what a command is given: a file or `-`, with one sentence when it cannot be read."""

import sys
from pathlib import Path

from gpufleet.cli.output import UnreadableInputError
from gpufleet.fleet import Compiled, compile_document
from gpufleet.spec import UnreadableDocumentError
from gpufleet.spec.document import MAX_BYTES


def read_bytes(source: str) -> bytes:
    """At most one byte more than the limit of a document, from a file or standard input (`-`).

    Raises UnreadableInputError when there is no such file or it may not be read.
    """
    if source == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(source).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise UnreadableInputError(f"{source}: {problem.strerror or problem}") from None


def compile_source(source: str, prices: str | None) -> Compiled:
    """Compile the declaration in a file or on standard input."""
    text = read_bytes(source)
    try:
        return compile_document(text, prices=Path(prices) if prices else None)
    except UnreadableDocumentError as problem:
        raise UnreadableInputError(f"{source}: {problem}") from None
