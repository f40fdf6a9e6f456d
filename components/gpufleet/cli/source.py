"""Reading the input of a command: a file or `-`, with one sentence when it cannot be read."""

import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import click

from gpufleet.cli.output import UnreadableInputError, refusing
from gpufleet.documents.limits import CONFIGURATION, Limits
from gpufleet.findings import FleetError
from gpufleet.platforms.compiled import Compiled, compile_document
from gpufleet.render.artefacts import validate_artefacts
from gpufleet.spec.document import UnreadableDocumentError, read_document


def read_bytes(source: str, limits: Limits = CONFIGURATION) -> bytes:
    """At most one byte more than the limit of a document, from a file or standard input (`-`).

    Raises UnreadableInputError when there is no such file or it may not be read.
    """
    with refusing(file=source):
        if source == "-":
            if sys.stdin is None:
                raise UnreadableInputError("-: standard input is closed")
            return sys.stdin.buffer.read(limits.size + 1)
        with Path(source).open("rb") as file:
            return file.read(limits.size + 1)


def read_mapping(source: str) -> dict[str, Any]:
    """The one document of a file or of standard input. Raises UnreadableInputError."""
    with refusing(UnreadableDocumentError, file=source):
        return read_document(read_bytes(source), "")


def read_text(source: str) -> str:
    """A dump of samples, of any size: it is not a declaration, whose size is limited.

    Raises UnreadableInputError when there is no such file, or it is not text.
    """
    try:
        with refusing(file=source), click.open_file(source, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise UnreadableInputError(f"{source}: it is not a text") from None


def compile_source(source: str, prices: str | None, as_of: date | None = None) -> Compiled:
    """Compile the declaration in a file or on standard input, with custom prices if given.

    Raises UnreadableInputError when either file cannot be read; errors in them are returned as
    findings.
    """
    text = read_bytes(source)
    if prices is not None:
        read_bytes(prices)  # the catalogue reads it only after a successful parse
    try:
        return compile_document(text, prices=None if prices is None else Path(prices), as_of=as_of)
    except UnreadableDocumentError as problem:
        raise UnreadableInputError(f"{source}: {problem}") from None
    except FleetError as problem:
        return Compiled(None, problem.findings)


def compile_files(source: str, prices: str | None, as_of: date | None = None) -> Compiled:
    """`compile_source`, and errors of the targets of its files, such as claims that Kueue does not
    count."""
    compiled = compile_source(source, prices, as_of)
    if compiled.fleet is None or not compiled.deployable:
        return compiled
    return replace(compiled, findings=(*compiled.findings, *validate_artefacts(compiled.fleet)))
