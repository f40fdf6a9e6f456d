"""Common output of all commands: findings, JSON, and the exit code."""

import os
import sys
import textwrap
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpufleet.cli.options import options
from gpufleet.documents.whole_file import write_whole_text
from gpufleet.findings import Finding, Severity, has_errors, ordered
from gpufleet.messages import json_text, message, one_line

if TYPE_CHECKING:
    from rich.console import Console

NARROWEST = 64
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


class UnreadableInputError(Exception):
    """The input cannot be read: the program prints the reason and exits 2.

    Args:
        lines: The errors, one line each. A line feed in one of them, as in names of files, does not
            start another line.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(one_line, lines)))


def require_something(looked_at: object, nothing: str) -> None:
    """End the command with exit status 2 if it had no input: that is never a success.

    Every command calls it with the data that it read or validated.

    Args:
        looked_at: The data, or its amount; empty when it is false.
        nothing: One sentence that reports it, and what to do.
    """
    if not looked_at:
        raise UnreadableInputError(nothing)


@contextmanager
def refusing(*problems: type[Exception], file: object = None) -> Generator[None, None, None]:
    """End the command if a file cannot be used, or one of these errors occurs.

    `file` is the name from the caller; None: the error itself names it.
    """
    try:
        yield
    except OSError as problem:
        name = problem.filename if file is None else file
        folder = "this is a folder, and a file is needed"
        why = folder if isinstance(problem, IsADirectoryError) else None
        text = f"{name or 'standard output'}: {why or problem.strerror or problem}"
        raise UnreadableInputError(text) from None
    except problems as problem:
        if file is None:  # one line for each error, none of which names the file twice
            raise UnreadableInputError(*str(problem).split("\n")) from None
        raise UnreadableInputError(f"{file}: {problem}") from None


def write_file(file: str | Path, text: str) -> None:
    """Write a text whole or not at all. Raises UnreadableInputError."""
    with refusing(file=file):
        write_whole_text(Path(file), text)


usd_per_kwh_option = options(__file__, "usd-per-kwh")
"""Adds `--usd-per-kwh`, passed as a number or None."""
format_option = options(__file__, "format")
"""Adds `--format text|json`, passed as `output_format`."""


def table_console() -> "Console":
    """A console for tables: as wide as the terminal, or wide enough for whole names in a pipe. A
    terminal below `NARROWEST` wraps the lines of a table: rich would leave figures out."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 180)
    console.width = max(console.width, NARROWEST)
    return console


def print_json(document: object) -> None:
    """Write one JSON document to standard output. Decimals become strings, so no digit is lost."""
    write_document(json_text(document) + "\n")


_has_written = False


def write_document(text: str) -> None:
    """Write the one document of a run to standard output, its colours only to a terminal."""
    global _has_written
    _has_written = True
    click.echo(text, nl=False)


def has_written() -> bool:
    """Whether this run wrote its document."""
    return _has_written


def fitted(line: str, width: int) -> str:
    """The line in lines of at most `width` characters, continuations indented. Longer words stay
    whole."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    parts = textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(parts)


def print_findings(
    findings: Iterable[Finding], *, to_stderr: bool = True, width: int | None = None
) -> None:
    """Write findings as text: errors first, each with its place, its reasons and its fix, in
    lines of at most `width` characters."""

    def say(text: str) -> None:
        fits = width is None or len(click.unstyle(text)) <= width
        click.echo(text if fits else fitted(text, width or 0), err=to_stderr)

    for finding in ordered(findings):
        severity = click.style(finding.severity.value, fg=_COLOURS[finding.severity], bold=True)
        place = click.style(finding.place, bold=True) + ": " if finding.place else ""
        say(f"{severity} {place}{finding.statement} [{finding.code}]")
        for line in finding.because:
            say(f"      because {one_line(message(line))}")
        if finding.fix:
            say(f"      fix: {one_line(finding.fix)}")


def exit_code(findings: Iterable[Finding]) -> int:
    """0 when there is no error among the findings, else 1."""
    return 1 if has_errors(findings) else 0
