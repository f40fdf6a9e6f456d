"""`gpufleet check`: verdict on an NVIDIA or Karpenter configuration before it is applied."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.options import options
from gpufleet.cli.output import (
    exit_code,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
)
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.findings import error
from gpufleet.messages import one_line
from gpufleet_policies.commands.audit_call import policy_settings, require_rules
from gpufleet_policies.commands.audit_reports import styled
from gpufleet_policies.configurations.kinds import KINDS

if TYPE_CHECKING:
    from gpufleet_policies.fronts.check import CheckedFile

_OTHER = ("document-unreadable", "-nothing-to-judge", "dra-no-config")
"""Ends of the codes of a text that is not of the kind; such findings are about no part of it."""
_COLOURS = {"accept": "green", "unjudged": "yellow", "warn": "yellow", "reject": "red"}


@click.command("check")
@click.argument("file", metavar="FILE")
@options(__file__, "check", kind=click.Choice(list(KINDS)))
@format_option
def command(
    file: str,
    kind: str | None,
    gpu: str | None,
    select: str | None,
    context_file: str | None,
    config: str | None,
    require_judged: bool,
    output_format: str,
) -> None:
    """Validate an NVIDIA, network or Karpenter configuration before it reaches a node.

    It is `gpufleet audit` of one document with a context; `audit --as KIND FILE` is the same.

    The verdict is `accept` (it works as written, and all of it was read), `unjudged` (no error in
    the parts that were read; the rest is listed), `warn` (it works, but not as written, or it
    wastes money) or `reject` (it fails, or has another effect without an error). FILE is YAML or
    JSON; `-` reads standard input.

    Exits 0 on `accept`, `unjudged` and `warn`, 1 on `reject`, or with --require-judged when
    something was not validated, 2 when the file cannot be read or nothing in it was validated.

    JSON: {"verdict", "findings": [...], "advertises": {"allocatable", "labels"} | null,
    "notJudged": [{"file", "line", "object", "what", "reason"}], "waived": [...]}.
    """
    if file == "-" and context_file == "-":
        raise click.UsageError("FILE and --context cannot both be standard input")
    from gpufleet_policies.fronts.audit.inputs import Input
    from gpufleet_policies.fronts.check import UNREADABLE, CheckedFile, check_file

    context = None if context_file is None else _context(context_file)
    settings = policy_settings(config, None)
    require_rules(settings)
    today = datetime.now(UTC).date()
    with refusing(file=file):
        try:
            checked = check_file(
                Input(file), today, settings, kind=kind, gpu=gpu, select=select, context=context
            )
        except UnreadableDocumentError as problem:
            checked = CheckedFile((error(UNREADABLE, "", str(problem)),), None, (), (), False)
    is_read = not any(one.code.endswith(_OTHER) and not one.path for one in checked.findings)
    if checked.is_judged or checked.findings or output_format == "json":
        _print(checked, file, output_format)
    looked_at = checked.is_judged or checked.findings or not is_read
    empty = f"{file}: it has no document, so nothing was validated"
    require_something(looked_at, _nothing_judged(file, checked) if kind is None else empty)
    failed = exit_code(checked.findings) or (require_judged and checked.not_judged)
    sys.exit((1 if failed else 0) if is_read else 2)


def _nothing_judged(file: str, checked: "CheckedFile") -> str:
    kinds = f"no kind is recognised in it; give --as, one of {', '.join(KINDS)}"
    reasons = [f"{one.object or 'the file'}: {one.reason}" for one in checked.not_judged]
    return f"{file}: " + "; ".join([*reasons, kinds])


def _context(source: str) -> Any:
    with refusing(UnreadableDocumentError, file=source):
        from gpufleet.cli.source import read_bytes  # it loads the compiler

        return read_go(read_bytes(source)).data


def _print(checked: "CheckedFile", file: str, output_format: str) -> None:
    from gpufleet_policies.fronts.audit import unjudged
    from gpufleet_policies.fronts.audit.as_json import finding_as_dict
    from gpufleet_policies.fronts.audit.text import waived_lines

    advertises = checked.advertises
    if output_format == "json":
        print_json(
            {
                "verdict": checked.verdict.value,
                "findings": [finding.as_dict() for finding in checked.findings],
                "advertises": None if advertises is None else advertises.as_dict(),
                "notJudged": [one.as_dict() for one in checked.not_judged],
                "waived": [finding_as_dict(one) for one in checked.waived],
            }
        )
        return
    verdict = checked.verdict.value
    click.echo(f"{one_line(file)}: {click.style(verdict, fg=_COLOURS[verdict], bold=True)}")
    print_findings(checked.findings, to_stderr=False)
    for line in waived_lines(checked.waived, styled):
        click.echo(line)
    for line in unjudged.lines(checked.not_judged, styled, verbose=True):
        click.echo(line)
    if advertises is not None:
        click.echo("a node will advertise:")
        for name, count in advertises.allocatable.items():
            click.echo(f"  {name}: {count}")
        for name, value in advertises.labels.items():
            click.echo(f"  {name}={value}")
