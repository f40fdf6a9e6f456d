"""`gpufleet compile`: FleetSpec -> Fleet."""

import sys
from datetime import datetime

import click

from gpufleet.cli.moments import as_of_option
from gpufleet.cli.options import options
from gpufleet.cli.output import exit_code, format_option, print_findings, print_json
from gpufleet.cli.source import compile_files
from gpufleet.cli.tables import print_fleet
from gpufleet.findings import has_errors
from gpufleet.fleet import fleet_as_dict


@click.command()
@click.argument("source", metavar="SPEC")
@options(__file__, "compile")
@as_of_option
@format_option
def command(source: str, prices: str | None, as_of: datetime | None, output_format: str) -> None:
    """Compile a FleetSpec: resources and costs of every pool, and all errors.

    SPEC is a YAML or JSON file, a Pulumi stack file with `gpufleet:fleet`, or `-`.

    \b
        gpufleet compile stacks/Pulumi.sandbox-dev.yaml
        gpufleet compile fleet.yaml --format json | jq '.fleet.pools[].advertised'

    JSON: {"fleet": {...} or null, "findings": [...]}. Exits 1 when a finding is an error, 2 when
    SPEC cannot be read.
    """
    compiled = compile_files(source, prices, as_of)
    findings = compiled.findings
    if output_format == "json":
        fleet = None if compiled.fleet is None else fleet_as_dict(compiled.fleet)
        print_json({"fleet": fleet, "findings": [f.as_dict() for f in findings]})
    else:
        print_findings(findings)
        if compiled.fleet is not None and not has_errors(findings):
            print_fleet(compiled.fleet)
    sys.exit(exit_code(findings))
