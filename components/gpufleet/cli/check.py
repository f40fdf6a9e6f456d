"""`gpufleet check`: verdict on someone's NVIDIA or Karpenter configuration before it does harm."""

from typing import Any

import click

from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
)
from gpufleet.cli.source import read_bytes
from gpufleet.contract.foreign.kinds import KINDS, validate_text
from gpufleet.contract.foreign.recognised import validate_recognised
from gpufleet.contract.foreign.validation import Judgement, Verdict
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.findings import error

_COLOURS = {Verdict.ACCEPT: "green", Verdict.WARN: "yellow", Verdict.REJECT: "red"}


@click.command("check")
@click.argument("file", metavar="FILE")
@click.option(
    "--as",
    "kind",
    type=click.Choice(list(KINDS)),
    help="Kind of the file. It selects the rules. Default: every kind that is recognised in it.",
)
@click.option("--gpu", metavar="KEY", help="GPU of the nodes, such as A100-80GB.")
@click.option(
    "--select",
    metavar="NAME",
    help="The config, or key of a ConfigMap, that a node will be given.",
)
@click.option(
    "--context",
    "context_file",
    metavar="FILE",
    help="What is known about the place: gpu, gpusPerNode, product, featureGates, version, env, "
    "chart (docs/check.md).",
)
@format_option
def command(
    file: str,
    kind: str | None,
    gpu: str | None,
    select: str | None,
    context_file: str | None,
    output_format: str,
) -> None:
    """Validate someone's NVIDIA, network or Karpenter configuration before it reaches a node.

    The verdict is `accept` (it will work), `warn` (it will work, but not as it reads) or `reject`
    (it fails, or silently does something else). FILE is YAML or JSON, bare or in a ConfigMap; `-`
    reads standard input. Exits 1 on `reject`, 2 when the file cannot be read.
    """
    if file == "-" and context_file == "-":
        raise click.UsageError("FILE and --context cannot both be standard input")
    text = read_bytes(file)
    context = None if context_file is None else _context(context_file)
    try:
        if kind is None:
            kinds, validation = validate_recognised(
                text, file, gpu=gpu, select=select, context=context
            )
            if not kinds and not validation.findings:
                raise UnreadableInputError(
                    f"{file}: no kind is recognised in it; give --as, one of {', '.join(KINDS)}"
                )
        else:
            validation = validate_text(kind, text, gpu=gpu, select=select, context=context)
    except UnreadableDocumentError as problem:
        unreadable = Judgement((error("document-unreadable", "", str(problem)),))
        _print(unreadable, file, output_format)
        raise SystemExit(2) from None
    _print(validation, file, output_format)
    raise SystemExit(exit_code(validation.findings))


def _context(source: str) -> Any:
    try:
        return read_go(read_bytes(source)).data
    except UnreadableDocumentError as problem:
        raise UnreadableInputError(f"{source}: {problem}") from None


def _print(validation: Judgement, file: str, output_format: str) -> None:
    if output_format == "json":
        print_json(validation.as_dict())
        return
    verdict = validation.verdict
    click.echo(f"{file}: {click.style(verdict.value, fg=_COLOURS[verdict], bold=True)}")
    print_findings(validation.findings, to_stderr=False)
    if validation.advertises is not None:
        click.echo("a node will advertise:")
        for name, count in validation.advertises.allocatable.items():
            click.echo(f"  {name}: {count}")
        for name, value in validation.advertises.labels.items():
            click.echo(f"  {name}={value}")
