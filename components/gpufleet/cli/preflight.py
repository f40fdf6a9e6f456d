"""`gpufleet preflight`: checks in the real cloud whether a fleet can be deployed."""

import sys

import click

from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
)
from gpufleet.cli.source import compile_source
from gpufleet.components_base.answers import Answers, CannotAskError, Wiring, platform_preflight
from gpufleet.findings import ordered
from gpufleet.platforms.registry import PLATFORMS


@click.command("preflight")
@click.argument("source", metavar="SPEC")
@options(__file__, "preflight")
@format_option
def command(
    source: str, subnets: tuple[str, ...], node_role: str | None, output_format: str
) -> None:
    """Check in the real cloud: offers, quotas, free capacity and addresses for every node.

    Read-only, with the credentials of the environment. A check without permission is reported as
    `could not check`, never as fine. SPEC is a YAML or JSON file, a Pulumi stack file with
    `gpufleet:fleet`, or `-`.

    \b
        gpufleet preflight stacks/Pulumi.eks-prod.yaml --subnet us-east-1a=subnet-0123

    JSON: {"asked": [...], "findings": [...]}. Exits 1 when a finding is an error, 2 when SPEC
    cannot be read, nothing can be asked, or no question got an answer.
    """
    wiring = Wiring(_by_zone(subnets), node_role)
    compiled = compile_source(source, None)
    if compiled.fleet is None or not compiled.deployable:
        _print(Answers(findings=list(compiled.findings)), output_format)
        sys.exit(1)
    preflight = platform_preflight(compiled.fleet.platform)
    if preflight is None:
        asked = ", ".join(platform for platform, one in PLATFORMS.items() if one.has("preflight"))
        raise UnreadableInputError(
            f"{source}: preflight does not support platform {compiled.fleet.spec.platform.value}; "
            f"it supports {asked}"
        )
    with refusing(CannotAskError):
        answers = preflight.ask(compiled.fleet, wiring)
    _print(answers, output_format)
    require_something(
        answers.asked,
        f"{source}: no question got an answer, so nothing is known about the fleet; what each "
        "needs is the fix of its finding",
    )
    sys.exit(exit_code(answers.findings))


def _by_zone(subnets: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in subnets:
        zone, equals, identifier = text.partition("=")
        if not (zone and equals and identifier):
            raise click.BadParameter(f"{text!r} is not ZONE=ID", param_hint="--subnet")
        found[zone] = identifier
    return found


def _print(answers: Answers, output_format: str) -> None:
    if output_format == "json":
        print_json(answers.as_dict())
        return
    print_findings(answers.findings)
    for question in answers.asked:
        click.echo(f"asked: {question}")
    if answers.asked and not ordered(answers.findings):
        click.echo("nothing blocks it")
