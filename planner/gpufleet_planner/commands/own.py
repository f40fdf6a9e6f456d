"""`gpufleet own`: a fleet rented from its cloud compared with owned machines, over years."""

import sys

import click

from gpufleet.catalogue import load
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
)
from gpufleet.cli.source import compile_source, read_mapping
from gpufleet.findings import has_errors, ordered
from gpufleet_planner.own.own_or_rent import (
    own_or_rent,
    own_or_rent_as_dict,
    own_or_rent_text,
    read_own_hardware,
)


@click.command()
@click.argument("spec", metavar="SPEC")
@click.argument("hardware", metavar="HARDWARE")
@options(__file__, "own")
@format_option
def command(spec: str, hardware: str, prices: str | None, output_format: str) -> None:
    """Compare renting a fleet with buying it: price, power, room, people, growth, over years.

    HARDWARE is YAML or JSON; docs/cost.md describes it.

    \b
        machines: [{gpu: H100-80GB, gpus: 8, usd: 300000, kw: 10.2}]
        years: 4
        usdPerKwh: 0.15
        pue: 1.3

    The cloud is paid for the expected nodes of each pool; machines are bought for its most nodes.
    JSON: {"comparison": {"pools", "years", "ownUsd", "cloudUsd", "residualUsd", "monthsToEven",
    "evenAtUtilisation", "taken"}, "findings"}. Exits 1 when either file has an error, 2 when one
    cannot be read or no pool can be compared.
    """
    if spec == hardware == "-":
        raise UnreadableInputError("only one of SPEC and HARDWARE can be standard input")
    data = read_mapping(hardware)
    compiled = compile_source(spec, prices)
    fleet, findings = compiled.fleet, compiled.findings
    catalogue = load() if fleet is None else load(fleet.spec.catalogue)
    plan, problems = read_own_hardware(data, catalogue)
    findings = (*findings, *problems)
    answer = None
    if fleet is not None and plan is not None and not has_errors(findings):
        answer = own_or_rent(fleet, plan, catalogue)
        findings = (*findings, *answer.findings)
    findings = ordered(findings)
    if output_format == "json":
        compared = None if answer is None else own_or_rent_as_dict(answer)
        print_json({"comparison": compared, "findings": [one.as_dict() for one in findings]})
    else:
        if answer is not None:
            click.echo(own_or_rent_text(answer), nl=False)
        print_findings(findings)
    sys.exit(2 if answer is not None and not answer.pools else exit_code(findings))
