"""What every command prints in the same way: findings, JSON, and the exit code."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from gpufleet.findings import Finding, Severity, has_errors, ordered
from gpufleet.messages import json_text

_Function = TypeVar("_Function", bound=Callable[..., Any])
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


class UnreadableInputError(Exception):
    """The input cannot be read at all: the program says why and exits 2."""


def format_option(function: _Function) -> _Function:
    """Add `--format text|json`, handed on as `output_format`."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="text for people, json for programs (one document on standard output).",
    )(function)


def print_json(document: object) -> None:
    """Write one JSON document to standard output. Decimals become strings, so no digit is lost."""
    sys.stdout.write(json_text(document) + "\n")


def print_findings(findings: Iterable[Finding], *, to_stderr: bool = True) -> None:
    """Write findings for people: errors first, each with its place, its reasons and its fix."""
    for finding in ordered(findings):
        severity = click.style(finding.severity.value, fg=_COLOURS[finding.severity], bold=True)
        place = click.style(finding.path, bold=True) + ": " if finding.path else ""
        click.echo(f"{severity} {place}{finding.message} [{finding.code}]", err=to_stderr)
        for line in finding.because:
            click.echo(f"      because {line}", err=to_stderr)
        if finding.fix:
            click.echo(f"      fix: {finding.fix}", err=to_stderr)


def exit_code(findings: Iterable[Finding]) -> int:
    """0 when there is no error among the findings, else 1."""
    return 1 if has_errors(findings) else 0
