"""Reports of `gpufleet audit`: printed, and written into files in the same run."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.output import UnreadableInputError, write_document
from gpufleet.documents.whole_file import write_whole_text
from gpufleet.messages import json_text, one_line

if TYPE_CHECKING:
    from gpufleet_policies.fronts.audit.run import Audit

FORMATS = ("text", "json", "sarif", "junit", "github", "html")
_COLOURS: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "strong": {"bold": True},
    "faint": {"dim": True},
}


def read_outputs(texts: Sequence[str]) -> Mapping[Path, str]:
    """File -> format, of `FORMAT=FILE`. Raises UsageError with every problem."""
    found: dict[Path, str] = {}
    problems: list[str] = []
    for text in texts:
        output_format, sign, file = text.partition("=")
        if not sign or not file or output_format not in FORMATS:
            problems.append(f"{text!r} is not FORMAT=FILE with a format of {', '.join(FORMATS)}")
        elif Path(file) in found:
            problems.append(f"two reports would be written into {file}")
        else:
            found[Path(file)] = output_format
    if problems:
        raise click.UsageError("--output: " + "; ".join(problems))
    return found


def print_report(
    result: "Audit", output_format: str, *, verbose: bool = False, top: int = 0
) -> None:
    """Print one report, with colours and line breaks on a terminal.

    `verbose` lists in text everything that was not validated; `top` is the number of objects in
    text and page, 0 for all.
    """
    width = None
    if sys.stdout.isatty():
        width = max(60, min(shutil.get_terminal_size((80, 24)).columns, 140))
    write_document(report(result, output_format, width, verbose=verbose, top=top))


def write_outputs(result: "Audit", files: Mapping[Path, str]) -> None:
    """Write every report, each file whole or not at all.

    Raises UnreadableInputError with every file that cannot be written.
    """
    problems: list[str] = []
    for path, output_format in files.items():
        try:
            write_whole_text(path, click.unstyle(report(result, output_format)))
        except OSError as problem:
            problems.append(f"--output {path}: {problem.strerror or problem}")
    if problems:
        raise UnreadableInputError(*problems)


def report(
    result: "Audit",
    output_format: str,
    width: int | None = None,
    *,
    verbose: bool = False,
    top: int = 0,
) -> str:
    """A report as text, with a line feed at its end."""
    if output_format == "json":
        from gpufleet_policies.fronts.audit.as_json import as_json

        return json_text(as_json(result)) + "\n"
    if output_format == "sarif":
        from importlib.metadata import version

        from gpufleet_policies.fronts.audit.sarif import as_sarif

        return json_text(as_sarif(result, version("pulumi-gpufleet"))) + "\n"
    if output_format == "junit":
        from gpufleet_policies.fronts.audit.junit import as_junit

        return as_junit(result)
    if output_format == "github":
        return "".join(f"{line}\n" for line in as_annotations(result))
    if output_format == "html":
        from gpufleet_policies.fronts.audit.page import as_page

        return as_page(result, top)
    from gpufleet_policies.fronts.audit.text import as_text

    lines = as_text(result, styled, width, verbose=verbose, top=top)
    return "".join(f"{line}\n" for line in lines)


def styled(words: str, kind: str) -> str:
    """Words as the terminal shows a kind of `_COLOURS`."""
    return click.style(words, **_COLOURS[kind])


def as_annotations(result: "Audit") -> Iterator[str]:
    """Workflow commands of GitHub Actions: a line for each finding, also for waived
    ones, and for each file that was not read."""
    for one in result.findings:
        level = "error" if one.is_mandatory else "warning"
        place = f"file={_property(one.file)},line={one.line},title={_property(one.code)}"
        yield f"::{level} {place}::{_data(one.text)}"
    for one in result.waived:
        place = f"file={_property(one.file)},line={one.line},title={_property(one.code)}"
        yield f"::notice {place}::{_data(f'waived: {one.waiver}')}"
    for file in result.unread:
        yield f"::notice file={_property(file.name)}::{_data(f'not read: {file.problem}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")
